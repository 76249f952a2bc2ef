import assert from "node:assert/strict";
import { isAbort } from "@memslot/core";
import { managerSearch, settles } from "./expect.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab.ts";

interface Verb {
  name: string;
  /** As an application calls it. */
  call(opened: OpenedMemory, signal?: AbortSignal): Promise<unknown>;
  /** As the guard calls it, with nothing between. */
  callManager(opened: OpenedMemory, signal: AbortSignal): Promise<unknown>;
}

const query = "boiler serviced in October";

const verbs: readonly Verb[] = [
  {
    name: "search",
    call: ({ memory }, signal) => memory.search(query, { signal }),
    callManager: ({ manager }, signal) => manager.search(query, managerSearch({ signal })),
  },
  {
    name: "readFile",
    call: ({ memory }, signal) => memory.readFile({ relPath: "memory/3.md", signal }),
    callManager: ({ manager }, signal) =>
      manager.readFile({ relPath: "memory/3.md", from: 1, lines: 120, audience: "private", signal }),
  },
  {
    name: "sync",
    call: ({ memory }, signal) => memory.sync({ force: true, signal }),
    callManager: async ({ manager }, signal) =>
      manager.sync?.({ reason: "conformance", force: true, wait: true, progress: () => undefined, signal }),
  },
  {
    name: "check",
    async call({ memory }, signal) {
      const check = await memory.check({ signal });
      return check && [check.ok, check.findings.map((finding) => finding.name)];
    },
    callManager: async ({ manager }, signal) => manager.check?.({ fix: false, signal }),
  },
  {
    name: "compact",
    // What there is to give back is another thing each time.
    call: async ({ memory }, signal) => (await memory.compact({ signal })) && "a report",
    callManager: async ({ manager }, signal) => manager.compact?.({ signal }),
  },
  {
    name: "probeEmbeddingAvailability",
    call: ({ memory }, signal) => memory.probeEmbeddingAvailability({ signal }),
    callManager: ({ manager }, signal) => manager.probeEmbeddingAvailability(signal),
  },
  {
    name: "probeVectorAvailability",
    call: ({ memory }, signal) => memory.probeVectorAvailability({ signal }),
    callManager: ({ manager }, signal) => manager.probeVectorAvailability(signal),
  },
];

async function openWithNotes(lab: MemoryLab): Promise<OpenedMemory> {
  for (let index = 0; index < 20; index++)
    await lab.write(`memory/${index}.md`, `The boiler was serviced in October, entry ${index}.\n`);
  const opened = await lab.open();
  await opened.settle();
  return opened;
}

/** What every verb promises. */
export const traitChecks: readonly MemoryCheck[] = verbs.flatMap(({ name, call, callManager }): MemoryCheck[] => [
  {
    name: `${name}: aborted before it began is refused with AbortError`,
    async run(lab) {
      const opened = await openWithNotes(lab);
      await assert.rejects(call(opened, AbortSignal.abort()), isAbort);
      await call(opened);
    },
  },
  {
    name: `${name}: aborted on its way ends, with AbortError or its answer`,
    async run(lab) {
      const opened = await openWithNotes(lab);
      for (const start of [call, callManager]) {
        const controller = new AbortController();
        const running = start(opened, controller.signal);
        setImmediate(() => controller.abort());
        const outcome = await settles(`an aborted ${name}`, running, lab.patienceMs);
        assert.ok(
          outcome.status === "fulfilled" || isAbort(outcome.reason),
          `aborting gave ${JSON.stringify(outcome)}`,
        );
      }
      await call(opened);
    },
  },
  {
    name: `${name}: twice in a row answers the same`,
    async run(lab) {
      const opened = await openWithNotes(lab);
      assert.deepEqual(await call(opened), await call(opened));
    },
  },
  {
    name: `${name}: many at once each answer as one alone`,
    async run(lab) {
      const opened = await openWithNotes(lab);
      const alone = await call(opened);
      for (const answer of await Promise.all(Array.from({ length: 12 }, () => call(opened))))
        assert.deepEqual(answer, alone);
    },
  },
]);
