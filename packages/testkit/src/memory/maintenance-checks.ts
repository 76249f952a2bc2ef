import assert from "node:assert/strict";
import { type IndexCheck, type Memory, type MemorySearchManager, isAbort } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import { assertPlainData } from "../helpers/assert-plain-data.ts";
import {
  type MemoryCheck,
  type MemoryLab,
  type OpenedMemory,
  managerSearch,
  numbered,
  pathsOf,
  settles,
} from "./memory-test-environment.ts";

const query = "boiler serviced in October";
const relPath = "memory/3.md";
const sync = { reason: "conformance", force: true, wait: true, progress: () => undefined };

type Calls = readonly [
  throughGuard: (memory: Memory, signal?: AbortSignal) => Promise<unknown>,
  withoutGuard: (manager: MemorySearchManager, signal: AbortSignal) => Promise<unknown> | undefined,
];

const calls: Readonly<Record<string, Calls>> = {
  search: [
    (memory, signal) => memory.search(query, { signal }),
    (manager, signal) => manager.search(query, managerSearch({ signal })),
  ],
  readFile: [
    (memory, signal) => memory.readFile({ relPath, signal }),
    (manager, signal) => manager.readFile({ relPath, from: 1, lines: 120, audience: "private", signal }),
  ],
  sync: [
    (memory, signal) => memory.sync({ force: true, signal }),
    (manager, signal) => manager.sync?.({ ...sync, signal }),
  ],
  check: [
    async (memory, signal) => (await memory.check({ signal }))?.findings.map(({ name, ok }) => [name, ok]),
    (manager, signal) => manager.check?.({ fix: false, signal }),
  ],
  // The number of freed bytes differs from call to call.
  compact: [
    async (memory, signal) => (await memory.compact({ signal })) && "a report",
    (manager, signal) => manager.compact?.({ signal }),
  ],
  probeEmbeddingAvailability: [
    (memory, signal) => memory.probeEmbeddingAvailability({ signal }),
    (manager, signal) => manager.probeEmbeddingAvailability(signal),
  ],
  probeVectorAvailability: [
    (memory, signal) => memory.probeVectorAvailability({ signal }),
    (manager, signal) => manager.probeVectorAvailability(signal),
  ],
};

const openWithBoilers = (lab: MemoryLab): Promise<OpenedMemory> =>
  lab.openWith(numbered(20, (index) => `The boiler was serviced in October, entry ${index}.\n`));

/** What every call promises. */
const callChecks = Object.entries(calls).flatMap(([name, [call, callManager]]): MemoryCheck[] => [
  {
    id: `${name}.abort-before`,
    promise: "a call with an aborted signal is refused with AbortError",
    async run(lab) {
      const { memory } = await openWithBoilers(lab);
      await assert.rejects(call(memory, AbortSignal.abort()), isAbort);
      await call(memory);
    },
  },
  {
    id: `${name}.abort-during`,
    promise: "a call that is aborted later ends, with AbortError or its answer",
    async run(lab) {
      const { memory, manager } = await openWithBoilers(lab);
      const starts = [
        (signal: AbortSignal) => call(memory, signal),
        async (signal: AbortSignal) => callManager(manager, signal),
      ];
      for (const start of starts) {
        const controller = new AbortController();
        const running = start(controller.signal);
        setImmediate(() => controller.abort());
        const outcome = await settles(`an aborted ${name}`, running, lab.patienceMs);
        assert.ok(
          outcome.status === "fulfilled" || isAbort(outcome.reason),
          `aborting gave ${JSON.stringify(outcome)}`,
        );
      }
      await call(memory);
    },
  },
  {
    id: `${name}.repeat`,
    promise: "calls in a row, and many at once, each give the same answer",
    async run(lab) {
      const { memory } = await openWithBoilers(lab);
      const alone = await call(memory);
      for (const answer of await Promise.all(Array.from({ length: 12 }, () => call(memory))))
        assert.deepEqual(answer, alone);
    },
  },
]);

const isTime = (value: string | undefined): boolean => value === undefined || !Number.isNaN(Date.parse(value));
const threeNotes = { "MEMORY.md": "Note of the owner.\n", "memory/a.md": "Note a.\n", "memory/b.md": "Note b.\n" };

/** The status, mostly without the guard, which would hide a fault. */
const statusChecks: readonly MemoryCheck[] = [
  {
    id: "status.plain",
    promise: "status never throws and is JSON, from open to close",
    async run(lab) {
      await lab.write({ "memory/a.md": "The badger lives under the shed.\n" });
      for (const embeddings of ["none", deterministicEmbeddings({ failEvery: 2 })] as const) {
        const opened = await lab.open({ embeddings });
        const { memory, manager } = opened;
        const assertPlain = (when: string): void => {
          const status = manager.status();
          assertPlainData(status, `status ${when}`);
          for (const field of ["backend", "provider"] as const)
            assert.ok(typeof status[field] === "string" && status[field] !== "", `status ${when} has no ${field}`);
          JSON.stringify(status);
        };
        assertPlain("after open");
        await memory.sync({ progress: () => assertPlain("during a sync") });
        await opened.settle();
        assertPlain("after a sync");
        await opened.ask("badger").catch(() => undefined);
        assertPlain("after a search");
        await manager.probeEmbeddingAvailability(new AbortController().signal).catch(() => undefined);
        assertPlain("after a probe");
        await memory.close();
        assertPlainData(memory.status(), "status after close");
      }
    },
  },
  {
    id: "status.snapshot",
    promise: "a status does not change after it is returned",
    async run(lab) {
      await lab.write(threeNotes);
      const opened = await lab.open();
      const before = opened.manager.status();
      const copy = structuredClone(before);
      await opened.settle();
      opened.manager.status();
      assert.deepEqual(before, copy);
    },
  },
  {
    id: "status.counts",
    promise: "status counts files and chunks, also by source, and names the workspace",
    needs: ["ownsIndex"],
    async run(lab) {
      const opened = await lab.openWith({ ...threeNotes, "memory/c.md": "Note c.\n" });
      await lab.remove("memory/c.md");
      await opened.settle();
      const { files, chunks = 0, sourceCounts = [], sources = [], workspaceDir, dirty } = opened.memory.status();
      assert.deepEqual([files, workspaceDir, dirty ?? false], [3, lab.workspaceDir, false]);
      assert.ok(chunks >= 3, `${chunks} chunks`);
      // The journal is always a source.
      assert.deepEqual(
        sources.filter((source) => source !== "journal"),
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
    id: "status.sync",
    promise: "an index is dirty before its first sync; afterwards the sync is recorded and no writer is left",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write(threeNotes);
      const opened = await lab.open();
      assert.equal(opened.memory.status().dirty, true);
      const report = await opened.settle();
      const { writer, generation, watch, lastSync, lastSyncError, lastError } = opened.memory.status();
      assert.deepEqual([writer, lastSyncError, lastError], [undefined, undefined, undefined]);
      assert.deepEqual([lastSync?.reason, lastSync?.report], ["conformance", report]);
      assert.ok((lastSync?.durationMs ?? -1) >= 0, `durationMs is ${lastSync?.durationMs}`);
      assert.ok(isTime(lastSync?.finishedAt ?? ""), `finishedAt is ${lastSync?.finishedAt}`);
      if (generation !== undefined) {
        assert.ok(Number.isSafeInteger(generation.id) && generation.id > 0, `generation.id is ${generation.id}`);
        assert.equal(generation.next, undefined, "nothing is being built");
        assert.ok(isTime(generation.builtAt), `builtAt is ${generation.builtAt}`);
      }
      // The kit switches watching off.
      if (watch !== undefined) assert.equal(watch.mode, "off");
    },
  },
];

const noCheck = "the manager has no check";
const noCompact = "the manager has no compact";

/** An index with a history: notes were added, changed, renamed and deleted, with their vectors. */
async function openLived(lab: MemoryLab): Promise<OpenedMemory> {
  const text = (index: number): string => `# Day ${index}\n\nThe ledger of day${index} was closed by the bookkeeper.\n`;
  await lab.write(numbered(30, text));
  const opened = await lab.open({ embeddings: deterministicEmbeddings() });
  await opened.settleVectors();
  for (let index = 0; index < 10; index++) await lab.remove(`memory/${index}.md`);
  const changed = "# Day 10\n\nThe ledger of day10 was opened again by the auditor.\n";
  await lab.write({ "memory/10.md": changed, "memory/empty.md": "" });
  await lab.rename("memory/11.md", "memory/renamed.md");
  await opened.settleVectors();
  return opened;
}

function assertSoundIndex(check: IndexCheck): void {
  assertPlainData(check, "check");
  for (const { name, ok, message } of check.findings) {
    assert.ok(name !== "" && message !== "", "a finding has no name or does not describe what was checked");
    assert.ok(ok, `${name}: ${message}`);
  }
  assert.equal(check.ok, true);
  assert.notEqual(check.findings.length, 0, "an unchecked index is reported as sound");
}

/** Everything about one word except scores, which depend on other notes. */
async function placesOf(opened: OpenedMemory): Promise<string[]> {
  const { results } = await opened.ask("ledger", { maxResults: 100, minScore: 0 });
  return results
    .map(({ path, startLine, endLine, snippet }) => `${path}:${startLine}-${endLine} ${snippet}`)
    .toSorted();
}

/** The health of the index. */
const indexChecks: readonly MemoryCheck[] = [
  {
    id: "check.sound",
    promise: "a synced index is sound, every finding describes what was checked, and fix repairs nothing",
    async run(lab) {
      const opened = await openLived(lab);
      const before = await placesOf(opened);
      for (const fix of [false, true]) {
        const check = await opened.memory.check({ fix });
        if (check === undefined) return noCheck;
        assertSoundIndex(check);
        for (const { name, fixed } of check.findings) assert.equal(fixed, undefined, `${name} was repaired`);
      }
      assert.deepEqual(await placesOf(opened), before);
      return undefined;
    },
  },
  {
    id: "check.no-embedding",
    promise: "check sends nothing to the embedding provider",
    async run(lab) {
      const embeddings = deterministicEmbeddings();
      await lab.write({ "memory/a.md": "The ledger was closed.\n" });
      const opened = await lab.open({ embeddings });
      await opened.settleVectors();
      await lab.write({ "memory/b.md": "The ledger was opened again.\n" });
      const before = embeddings.calls();
      if ((await opened.memory.check({ fix: true })) === undefined) return noCheck;
      assert.deepEqual(embeddings.calls(), before);
      return undefined;
    },
  },
  {
    id: "compact.answers",
    promise: "compact reports the bytes before and after, and changes no answer, also of a search meanwhile",
    async run(lab) {
      const opened = await openLived(lab);
      const before = await placesOf(opened);
      const [report, { results }] = await Promise.all([opened.memory.compact(), opened.ask("auditor")]);
      if (report === undefined) return noCompact;
      assert.ok(report.afterBytes <= report.beforeBytes, `${report.beforeBytes} to ${report.afterBytes} bytes`);
      assert.deepEqual(pathsOf(results), ["memory/10.md"]);
      assert.deepEqual(await placesOf(opened), before);
      return undefined;
    },
  },
  {
    id: "compact.usable",
    promise: "after compact the index takes changes and is sound",
    async run(lab) {
      const opened = await openLived(lab);
      if ((await opened.memory.compact()) === undefined) return noCompact;
      await lab.remove("memory/10.md");
      await lab.write({ "memory/new.md": "The ledger has a new cover.\n" });
      await opened.settle();
      await opened.finds("cover", "memory/new.md");
      assert.ok(!(await opened.paths("auditor")).includes("memory/10.md"));
      const check = await opened.memory.check();
      if (check !== undefined) assertSoundIndex(check);
      return undefined;
    },
  },
];

export const upkeepChecks: readonly MemoryCheck[] = [...callChecks, ...statusChecks, ...indexChecks];
