import assert from "node:assert/strict";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertPlainData } from "../plain-data.ts";
import type { MemoryCheck } from "./lab.ts";

/** What the status promises. It is asked below the guard, which would hide a fault. */
export const statusChecks: readonly MemoryCheck[] = [
  {
    name: "status: never throws and is JSON, from open to close",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      for (const embeddings of ["none", deterministicEmbeddings({ failEvery: 2 })] as const) {
        const { memory, manager, settle, ask } = await lab.open({ embeddings });
        const look = (when: string): void => {
          const status = manager.status();
          assertPlainData(status, `status ${when}`);
          assert.ok(typeof status.backend === "string" && status.backend !== "", `status ${when} names no backend`);
          assert.ok(typeof status.provider === "string" && status.provider !== "", `status ${when} names no provider`);
          JSON.stringify(status);
        };
        look("after open");
        await memory.sync({ progress: () => look("during a sync") });
        await settle();
        look("after a sync");
        await ask("badger").catch(() => undefined);
        look("after a search");
        await manager.probeEmbeddingAvailability(new AbortController().signal).catch(() => undefined);
        look("after a probe");
        await memory.close();
        assertPlainData(memory.status(), "status after close");
      }
    },
  },
  {
    name: "status: is a snapshot that later events do not change",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const { manager, settle } = await lab.open();
      const before = manager.status();
      const copy = structuredClone(before);
      await settle();
      manager.status();
      assert.deepEqual(before, copy);
    },
  },
  {
    name: "status: counts the files and chunks, and names the workspace",
    needs: ["ownsIndex"],
    async run(lab) {
      for (const name of ["a", "b", "c"]) await lab.write(`memory/${name}.md`, `Note ${name}.\n`);
      const { memory, settle } = await lab.open();
      await settle();
      const status = memory.status();
      assert.equal(status.files, 3);
      assert.ok((status.chunks ?? 0) >= 3, `${status.chunks} chunks`);
      assert.equal(status.workspaceDir, lab.workspaceDir);
      assert.notEqual(status.dirty, true);
    },
  },
  {
    name: "status: an index that was never synced is dirty",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("memory/a.md", "Note a.\n");
      const { memory } = await lab.open();
      assert.equal(memory.status().dirty, true);
    },
  },
  {
    name: "status: the last sync is recorded with its report",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("memory/a.md", "Note a.\n");
      const { memory, settle } = await lab.open();
      const report = await settle();
      const { lastSync } = memory.status();
      assert.deepEqual(lastSync?.report, report);
      assert.ok(!Number.isNaN(Date.parse(lastSync?.finishedAt ?? "")), `finishedAt is ${lastSync?.finishedAt}`);
    },
  },
];
