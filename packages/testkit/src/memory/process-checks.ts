import assert from "node:assert/strict";
import { readFile, readdir, readlink, rm } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, isAbort } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import { longestBlockMs, withFolders, withPrinted, withRejections } from "../helpers/watch-side-effects.ts";
import { type MemoryCheck, type MemoryLab, numbered, pathsOf, settles } from "./memory-test-environment.ts";

const birds = {
  "MEMORY.md": "# Birds\n\nThe heron is in the pond.\n",
  ...numbered(12, (index) => `The heron was here, entry ${index}.\n`),
};
const boilers = {
  "MEMORY.md": "# Household\n\nThe boiler is serviced each October by Brandt & Sons.\n",
  "memory/2026-02-11.md": "The boiler made a noise; Brandt was called.\n",
  "memory/2026-02-12.md": "Bought a new kettle.\n",
};

/** Opens, makes every call once, and closes. */
async function useOnce(lab: MemoryLab, options: Parameters<MemoryLab["open"]>[0] = {}): Promise<void> {
  const { readOnly = false } = options;
  const opened = await lab.open(options);
  const { memory } = opened;
  if (!readOnly) await opened.settle();
  for (const query of ["heron", "an unknown thing"]) await opened.ask(query);
  await opened.read("MEMORY.md");
  await memory.check();
  if (!readOnly) await memory.compact();
  await memory.probeEmbeddingAvailability();
  await memory.probeVectorAvailability();
  memory.status();
  await memory.close();
}

/** The sorted names in a folder; none if it does not exist. */
async function namesIn(folder: string, recursive = true): Promise<string[]> {
  return (await readdir(folder, { recursive }).catch(() => [])).toSorted();
}

/** Files below a folder that this process has open, if the platform reports them. */
async function openFilesBelow(folder: string): Promise<string[]> {
  const descriptors = await readdir("/proc/self/fd").catch(() => []);
  const targets = descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => ""));
  return (await Promise.all(targets)).filter((target) => target.startsWith(folder + sep));
}

/** What keeps this process alive, and its children, each with their number. */
async function whatRuns(): Promise<Map<string, number>> {
  // The runner's own files and one-time callbacks come and go.
  const passing = /^(?:Immediate|FSReq|FileHandleCloseReq|.*Wrap$|.*Req)/;
  const active = process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap" || !passing.test(name));
  // Empty where the platform does not report it.
  const list = await readFile(`/proc/self/task/${process.pid}/children`, "utf8").catch(() => "");
  const pids = list.split(" ").filter((pid) => pid !== "");
  const commands = pids.map((pid) => readFile(join("/proc", pid, "comm"), "utf8").catch(() => "that ended"));
  const children = (await Promise.all(commands)).map((command) => `process ${command}`);
  const groups = Map.groupBy([...active, ...children], (name) => name);
  return new Map([...groups].map(([name, { length }]) => [name, length]));
}

/** The same without what ends within a moment. */
async function whatKeepsRunning(): Promise<Map<string, number>> {
  let least = await whatRuns();
  for (let round = 0; round < 10; round++) {
    await sleep(20);
    const now = await whatRuns();
    least = new Map([...least].map(([name, count]) => [name, Math.min(count, now.get(name) ?? 0)]));
  }
  return least;
}

/** The longest time for which a plugin may block its host, in the best of some rounds: the machine may be busy. */
const blockMs = 250;
const rounds = 5;

/** Opening, and behaviour in the process of the host. */
const hostChecks: readonly MemoryCheck[] = [
  {
    id: "open.abort",
    promise: "opening ends when its signal is aborted",
    async run(lab) {
      const opened = await lab.openWith(birds);
      const open = async (signal: AbortSignal) => {
        const outcome = await settles("opening", opened.openAgain({ signal }), lab.patienceMs);
        if (outcome.status === "fulfilled") await outcome.value.close?.();
        else assert.ok(isAbort(outcome.reason), `an aborted opening gave ${String(outcome.reason)}`);
        return outcome.status;
      };
      assert.equal(await open(AbortSignal.abort()), "rejected", "opening with an aborted signal gave a manager");
      const controller = new AbortController();
      setImmediate(() => controller.abort());
      await open(controller.signal);
      await opened.settle();
    },
  },
  {
    id: "open.look-only",
    promise: "with readOnly nothing is created on disk",
    async run(lab) {
      await lab.write(birds);
      const look = (): Promise<void> => useOnce(lab, { readOnly: true });
      await look();
      assert.deepEqual(await namesIn(lab.stateDir), [], "in an empty state folder");
      await useOnce(lab);
      const before = await namesIn(lab.stateDir);
      await lab.write({ "memory/new.md": "The heron has a nest.\n" });
      await look();
      assert.deepEqual(await namesIn(lab.stateDir), before, "beside an index");
    },
  },
  {
    id: "host.writes",
    promise: "the manager writes below the state folder and nowhere else",
    async run(lab) {
      await lab.write(birds);
      const places = [dirname(lab.workspaceDir), lab.workspaceDir, process.cwd()];
      const before = await Promise.all(places.map((place) => namesIn(place, false)));
      const left = await withFolders(lab.outsideDir, lab.patienceMs, async () => useOnce(lab));
      assert.deepEqual(left, [], "in the home folder or the folder for temporary files");
      for (const [index, at] of places.entries()) assert.deepEqual(await namesIn(at, false), before[index], at);
    },
  },
  {
    id: "host.prints",
    promise: "the manager prints nothing, also when its provider fails",
    async run(lab) {
      await lab.write(birds);
      for (const embeddings of ["none", deterministicEmbeddings({ failEvery: 2 })] as const)
        assert.deepEqual(await withPrinted(async () => useOnce(lab, { embeddings })), []);
    },
  },
  {
    id: "host.rejections",
    promise: "no promise is rejected without a handler",
    async run(lab) {
      await lab.write(birds);
      const unhandled = await withRejections(async () => {
        await useOnce(lab, { embeddings: deterministicEmbeddings({ failEvery: 2 }) });
        const { memory } = await lab.open();
        const controller = new AbortController();
        const { signal } = controller;
        const running = Promise.allSettled<unknown>([
          memory.search("heron", { signal }),
          memory.sync({ force: true, signal }),
          memory.readFile({ relPath: "../outside.md" }),
          memory.search("heron"),
        ]);
        setImmediate(() => controller.abort());
        await memory.close();
        await running;
      });
      assert.deepEqual(unhandled, []);
    },
  },
  {
    id: "host.nothing-left",
    promise: "after close no timer, thread or process of the manager is left",
    async run(lab) {
      await lab.write(birds);
      // Libraries that stay loaded in the host do not count.
      await useOnce(lab);
      const before = await whatKeepsRunning();
      await useOnce(lab, { memorySearch: { sync: { watch: true, intervalMinutes: 1 } } });
      let more: [name: string, count: number][] = [];
      for (let waitedMs = 0; waitedMs <= lab.patienceMs; waitedMs += 50) {
        more = [...(await whatRuns())].filter(([name, count]) => count > (before.get(name) ?? 0));
        if (more.length === 0) return;
        await sleep(50);
      }
      assert.fail(`still there after close: ${more.map(([name, count]) => `${count} ${name}`).join(", ")}`);
    },
  },
  {
    id: "host.event-loop",
    promise: "the manager does not block the event loop of its host",
    async run(lab) {
      const words = "the heron stood by the pond and looked at what the weather did to the reeds that day";
      const text = (index: number): string => `# Day ${index}\n\n${`${words}, entry ${index}.\n\n`.repeat(30)}`;
      const opened = await lab.openWith(numbered(60, text));
      const work = async (): Promise<void> => {
        await opened.settle({ force: true });
        await opened.ask("heron weather");
        await opened.read("memory/1.md");
        opened.memory.status();
      };
      const blocks: number[] = [];
      for (let round = 0; round < rounds && Math.min(...blocks) >= blockMs; round++)
        blocks.push(await longestBlockMs(work));
      assert.ok(Math.min(...blocks) < blockMs, `the host was blocked for ${blocks.map(Math.round).join(", ")} ms`);
    },
  },
];

/** Closing, and opening again. */
const lifecycleChecks: readonly MemoryCheck[] = [
  {
    id: "open.again",
    promise: "opened again on the same state folder it gives the same answers without indexing again",
    needs: ["ownsIndex"],
    async run(lab) {
      const embeddings = deterministicEmbeddings();
      const first = await lab.openWith(boilers, { embeddings });
      const before = (await first.ask("boiler serviced by Brandt")).results;
      assert.ok(before.length > 0);
      await first.memory.close();
      const { texts } = embeddings.calls();
      const second = await lab.open({ embeddings });
      const assertSame = async (when: string): Promise<void> =>
        assert.deepEqual((await second.ask("boiler serviced by Brandt")).results, before, when);
      await assertSame("before the first sync");
      const report = await second.settle();
      assert.deepEqual([report?.added, report?.changed, report?.removed, report?.unchanged], [0, 0, 0, 3]);
      assert.equal(embeddings.calls().texts, texts, "unchanged texts were embedded again");
      await assertSame("after a sync");
    },
  },
  {
    id: "open.changed-meanwhile",
    promise: "the next sync sees changes that were made while it was closed",
    async run(lab) {
      await (await lab.openWith(boilers)).memory.close();
      await lab.write({ "memory/2026-02-12.md": "Bought a new toaster.\n" });
      await lab.remove("memory/2026-02-11.md");
      const second = await lab.openWith({});
      await second.finds("toaster", "memory/2026-02-12.md");
      assert.ok(!(await second.paths("boiler Brandt")).includes("memory/2026-02-11.md"));
    },
  },
  {
    id: "open.state-deleted",
    promise: "a deleted state folder is rebuilt from the notes",
    async run(lab) {
      await (await lab.openWith(boilers)).memory.close();
      await rm(lab.stateDir, { recursive: true });
      await (await lab.openWith({})).finds("boiler", "MEMORY.md");
    },
  },
  {
    id: "close.twice",
    promise: "closing twice is closing once",
    async run(lab) {
      const { memory } = await lab.open();
      await Promise.all([memory.close(), memory.close()]);
      await memory.close();
    },
  },
  {
    id: "close.calls",
    promise: "a call after close is refused with CLOSED; status still answers; no file of the memory is open",
    async run(lab) {
      const { memory } = await lab.openWith(boilers);
      const { backend } = memory.status();
      await memory.search("boiler");
      await memory.readFile({ relPath: "MEMORY.md" });
      await memory.close();
      assert.deepEqual([...(await openFilesBelow(lab.workspaceDir)), ...(await openFilesBelow(lab.stateDir))], []);
      const calls = [
        memory.search("boiler"),
        memory.readFile({ relPath: "MEMORY.md" }),
        memory.sync(),
        memory.probeEmbeddingAvailability(),
        memory.probeVectorAvailability(),
      ];
      for (const outcome of await Promise.allSettled<unknown>(calls))
        assert.ok(outcome.status === "rejected" && MemoryError.is(outcome.reason, "CLOSED"), JSON.stringify(outcome));
      assert.equal(memory.status().backend, backend);
    },
  },
  {
    id: "close.running",
    promise: "closing ends running calls, and the next open finds whole files",
    async run(lab) {
      await lab.write(numbered(80, (index) => `The ferry number${index} leaves at eight.\n`));
      const { memory } = await lab.open();
      const running = Promise.allSettled<unknown>([memory.sync(), memory.search("ferry")]);
      await memory.close();
      for (const outcome of await running)
        assert.ok(
          outcome.status === "fulfilled" || MemoryError.is(outcome.reason, "CLOSED"),
          `it gave ${JSON.stringify(outcome)}`,
        );
      const second = await lab.openWith({});
      for (const index of [0, 40, 79]) await second.finds(`number${index}`, `memory/${index}.md`);
    },
  },
];

const owners = [
  { id: "workspaces", who: "two workspaces of one agent", otherAgent: "main" },
  { id: "agents", who: "two agents, each with a workspace", otherAgent: "other" },
];

/** An index belongs to one workspace and one agent. */
const placeChecks = owners.flatMap(({ id, who, otherAgent }): MemoryCheck[] => {
  const homes = async (lab: MemoryLab) => {
    await lab.write({ "MEMORY.md": "The otter sleeps in the boathouse.\n" });
    const other = await lab.outside("other", { "MEMORY.md": "The badger digs behind the orchard.\n" });
    return [
      { workspaceDir: lab.workspaceDir, agentId: "main", own: "otter", foreign: "badger" },
      { workspaceDir: other, agentId: otherAgent, own: "badger", foreign: "otter" },
    ] as const;
  };
  type Home = Awaited<ReturnType<typeof homes>>[number];
  /** Expects nothing of the other home, before a sync and after it. */
  const assertOwn = async (opened: Awaited<ReturnType<MemoryLab["open"]>>, { own, foreign }: Home): Promise<void> => {
    for (const sync of [false, true]) {
      if (sync) await opened.settle();
      const { results } = await opened.ask(foreign, { maxResults: 50, minScore: 0 });
      assert.ok(!JSON.stringify(results).includes(foreign), `a note of the other place was found (synced: ${sync})`);
    }
    const { results } = await opened.ask(own);
    assert.ok(results[0]?.snippet.includes(own), `"${own}" found ${pathsOf(results).join(", ")}`);
  };
  return [
    {
      id: `places.${id}-at-once`,
      promise: `${who}, open at once, find only their own notes`,
      async run(lab) {
        const [first, second] = await homes(lab);
        const one = await lab.open(first);
        await one.settle();
        const two = await lab.open(second);
        for (const [opened, home] of [
          [two, second],
          [one, first],
          [two, second],
        ] as const)
          await assertOwn(opened, home);
      },
    },
    {
      id: `places.${id}-in-turn`,
      promise: `${who}, open one after the other, find only their own notes`,
      async run(lab) {
        const both = await homes(lab);
        for (const home of [...both, ...both]) {
          const opened = await lab.open(home);
          await assertOwn(opened, home);
          await opened.memory.close();
        }
      },
    },
  ];
});

export const processChecks: readonly MemoryCheck[] = [...hostChecks, ...lifecycleChecks, ...placeChecks];
