import assert from "node:assert/strict";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertPlainData } from "../helpers/plain-data.ts";
import type { MemoryCheck } from "./lab/lab.ts";

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
    name: "status: the counts of the sources add up, and each is of the source that it names",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("MEMORY.md", "Note of the owner.\n");
      for (const name of ["a", "b", "c"]) await lab.write(`memory/${name}.md`, `Note ${name}.\n`);
      const { memory, settle } = await lab.open();
      await settle();
      await lab.remove("memory/c.md");
      await settle();
      const { files, chunks, sourceCounts = [], sources } = memory.status();
      // The journal of the flush is a source beside what the settings name.
      assert.deepEqual(
        sources?.filter((source) => source !== "journal"),
        ["memory"],
      );
      const sum = (field: "files" | "chunks"): number => sourceCounts.reduce((total, each) => total + each[field], 0);
      assert.deepEqual([sum("files"), sum("chunks")], [files, chunks]);
      const own = sourceCounts.find(({ source }) => source === "memory") ?? assert.fail("the notes are not counted");
      assert.equal(own.files, 3);
      if (own.bytes !== undefined) assert.equal(own.bytes, 35);
      if (own.chunkBytes !== undefined) assert.ok(own.chunkBytes > 0 && own.chunkBytes <= 35, String(own.chunkBytes));
      if (typeof own.eligible === "number") assert.equal(own.eligible, 3);
    },
  },
  {
    name: "status: nobody is at work after a sync, and what it says of builds, watching and times can be read",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("memory/a.md", "Note a.\n");
      const { memory, settle } = await lab.open();
      await settle();
      const { writer, generation, watch, lastSync, lastSyncError, lastError } = memory.status();
      assert.deepEqual([writer, lastSyncError, lastError], [undefined, undefined, undefined]);
      assert.equal(lastSync?.reason, "conformance");
      assert.ok((lastSync?.durationMs ?? -1) >= 0, `durationMs is ${lastSync?.durationMs}`);
      if (generation !== undefined) {
        assert.ok(Number.isSafeInteger(generation.id) && generation.id > 0, `generation.id is ${generation.id}`);
        assert.equal(generation.next, undefined, "nothing is being built");
        assert.ok(isTime(generation.builtAt), `builtAt is ${generation.builtAt}`);
      }
      // The kit has watching switched off.
      if (watch !== undefined) assert.equal(watch.mode, "off");
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

/** True for ISO 8601, and for nothing: a time that nobody has recorded. */
function isTime(value: string | undefined): boolean {
  return value === undefined || !Number.isNaN(Date.parse(value));
}
