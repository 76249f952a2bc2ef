import assert from "node:assert/strict";
import { mkdir, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { MemoryError } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertFinds, pathsOf } from "./lab/expect.ts";
import type { MemoryCheck, MemoryLab } from "./lab/lab.ts";

async function writeSome(lab: MemoryLab): Promise<void> {
  await lab.write("MEMORY.md", "# Household\n\nThe boiler is serviced each October by Brandt & Sons.\n");
  await lab.write("memory/2026-02-11.md", "The boiler made a noise; Brandt was called.\n");
  await lab.write("memory/2026-02-12.md", "Bought a new kettle.\n");
}

/** Files below a folder that this process holds open, where the platform can tell; else nothing. */
async function openFilesBelow(folder: string): Promise<string[]> {
  const descriptors = await readdir("/proc/self/fd").catch(() => []);
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => "")),
  );
  return targets.filter((target) => target.startsWith(folder + sep));
}

/** What opening, closing and opening again promise. */
export const lifecycleChecks: readonly MemoryCheck[] = [
  {
    name: "lifecycle: reopened on the same state folder answers the same without re-indexing",
    needs: ["ownsIndex"],
    async run(lab) {
      await writeSome(lab);
      const embeddings = deterministicEmbeddings();
      const first = await lab.open({ embeddings });
      await first.settle();
      const before = (await first.ask("boiler serviced by Brandt")).results;
      assert.ok(before.length > 0);
      await first.memory.close();
      const { texts } = embeddings.calls();
      const second = await lab.open({ embeddings });
      assert.deepEqual(
        (await second.ask("boiler serviced by Brandt")).results,
        before,
        "the answer before the first sync",
      );
      const report = await second.settle();
      assert.deepEqual([report?.added, report?.changed, report?.removed, report?.unchanged], [0, 0, 0, 3]);
      assert.equal(embeddings.calls().texts, texts, "unchanged texts were embedded again");
      assert.deepEqual((await second.ask("boiler serviced by Brandt")).results, before);
    },
  },
  {
    name: "lifecycle: what changed while it was closed is seen by the next sync",
    async run(lab) {
      await writeSome(lab);
      const first = await lab.open();
      await first.settle();
      await first.memory.close();
      await lab.write("memory/2026-02-12.md", "Bought a new toaster.\n");
      await lab.remove("memory/2026-02-11.md");
      const second = await lab.open();
      await second.settle();
      await assertFinds(second, "toaster", "memory/2026-02-12.md");
      assert.ok(
        !pathsOf((await second.ask("boiler Brandt", { minScore: 0 })).results).includes("memory/2026-02-11.md"),
      );
    },
  },
  {
    name: "lifecycle: a deleted state folder is rebuilt from the notes",
    async run(lab) {
      await writeSome(lab);
      const first = await lab.open();
      await first.settle();
      await first.memory.close();
      await rm(lab.stateDir, { recursive: true });
      const second = await lab.open();
      await second.settle();
      await assertFinds(second, "boiler", "MEMORY.md");
    },
  },
  {
    name: "lifecycle: two agents with one state folder do not see each other's notes",
    async run(lab) {
      await lab.write("memory/a.md", "The otter belongs to the first agent.\n");
      const workspaceDir = join(lab.outsideDir, "second");
      await mkdir(join(workspaceDir, "memory"), { recursive: true });
      await writeFile(join(workspaceDir, "memory/b.md"), "The otter belongs to the second agent.\n");
      const first = await lab.open({ agentId: "first" });
      await first.settle();
      const second = await lab.open({ agentId: "second", workspaceDir });
      await second.settle();
      assert.deepEqual(pathsOf((await second.ask("otter", { minScore: 0 })).results), ["memory/b.md"]);
      assert.deepEqual(pathsOf((await first.ask("otter", { minScore: 0 })).results), ["memory/a.md"]);
    },
  },
  {
    name: "lifecycle: closing twice is closing once",
    async run(lab) {
      const { memory } = await lab.open();
      await Promise.all([memory.close(), memory.close()]);
      await memory.close();
    },
  },
  {
    name: "lifecycle: a call after close is refused with CLOSED, and status still answers",
    async run(lab) {
      await writeSome(lab);
      const { memory, settle } = await lab.open();
      await settle();
      const { backend } = memory.status();
      await memory.close();
      const calls = [
        memory.search("boiler"),
        memory.readFile({ relPath: "MEMORY.md" }),
        memory.sync(),
        memory.probeEmbeddingAvailability(),
        memory.probeVectorAvailability(),
      ];
      for (const outcome of await Promise.allSettled<unknown>(calls)) {
        assert.ok(outcome.status === "rejected" && MemoryError.is(outcome.reason, "CLOSED"), JSON.stringify(outcome));
      }
      assert.equal(memory.status().backend, backend);
    },
  },
  {
    name: "lifecycle: closing ends what is running, and the next open finds whole files",
    async run(lab) {
      for (let index = 0; index < 80; index++)
        await lab.write(`memory/${index}.md`, `The ferry number${index} leaves at eight.\n`);
      const first = await lab.open();
      const running = Promise.allSettled<unknown>([first.memory.sync(), first.memory.search("ferry")]);
      await first.memory.close();
      for (const outcome of await running) {
        if (outcome.status === "rejected") assert.ok(MemoryError.is(outcome.reason, "CLOSED"), String(outcome.reason));
      }
      const second = await lab.open();
      await second.settle();
      for (const index of [0, 40, 79]) await assertFinds(second, `number${index}`, `memory/${index}.md`);
    },
  },
  {
    name: "lifecycle: after close no file of the workspace or the state folder is open",
    async run(lab) {
      await writeSome(lab);
      const { memory, settle, ask } = await lab.open();
      await settle();
      await ask("boiler");
      await memory.readFile({ relPath: "MEMORY.md" });
      await memory.close();
      assert.deepEqual([...(await openFilesBelow(lab.workspaceDir)), ...(await openFilesBelow(lab.stateDir))], []);
    },
  },
];
