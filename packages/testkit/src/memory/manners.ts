import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAbort } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { longestBlockMs, withFolders, withPrinted, withRejections } from "../helpers/process-watch.ts";
import { settles } from "./lab/expect.ts";
import type { LabOpenOptions, MemoryCheck, MemoryLab } from "./lab/lab.ts";

/** Opens, asks for everything, and closes. Who only looks lets nothing be indexed. */
async function live(lab: MemoryLab, options: LabOpenOptions = {}): Promise<void> {
  const opened = await lab.open(options);
  if (options.lookOnly !== true) await opened.settle();
  await opened.ask("heron");
  await opened.ask("nothing holds this");
  await opened.memory.readFile({ relPath: "MEMORY.md" });
  await opened.memory.check();
  if (options.lookOnly !== true) await opened.memory.compact();
  await opened.memory.probeEmbeddingAvailability();
  await opened.memory.probeVectorAvailability();
  opened.memory.status();
  await opened.memory.close();
}

async function writeSome(lab: MemoryLab): Promise<void> {
  await lab.write("MEMORY.md", "# Birds\n\nThe heron is in the pond.\n");
  for (let index = 0; index < 12; index++)
    await lab.write(`memory/${index}.md`, `The heron was here, entry ${index}.\n`);
}

/** The longest time for which a plugin may block its host, in the best of some rounds: a busy machine is not the plugin's fault. */
const blockMs = 250;
const rounds = 5;

/** How a manager behaves in the process of its host. */
export const mannerChecks: readonly MemoryCheck[] = [
  {
    name: "open: ends when its signal is aborted",
    async run(lab) {
      await writeSome(lab);
      const opened = await lab.open();
      const early = await settles("opening", opened.openAgain({ signal: AbortSignal.abort() }), lab.patienceMs);
      if (early.status === "fulfilled") await early.value.close?.();
      assert.ok(early.status === "rejected", "opening with a signal that was aborted before gave a manager");
      assert.ok(isAbort(early.reason), `opening with an aborted signal gave ${String(early.reason)}`);
      const controller = new AbortController();
      const running = opened.openAgain({ signal: controller.signal });
      setImmediate(() => controller.abort());
      const late = await settles("opening", running, lab.patienceMs);
      if (late.status === "fulfilled") await late.value.close?.();
      else assert.ok(isAbort(late.reason), `aborting gave ${String(late.reason)}`);
      await opened.settle();
    },
  },
  {
    name: "open: to look only makes nothing on disk",
    async run(lab) {
      await writeSome(lab);
      await live(lab, { lookOnly: true });
      assert.deepEqual(await namesIn(lab.stateDir), [], "in an empty state folder");
      await live(lab);
      const before = await namesIn(lab.stateDir);
      await lab.write("memory/new.md", "The heron has a nest.\n");
      const opened = await lab.open({ lookOnly: true });
      await opened.ask("heron");
      opened.memory.status();
      await opened.memory.close();
      assert.deepEqual(await namesIn(lab.stateDir), before, "beside an index");
    },
  },
  {
    name: "manners: writes below the state folder and nowhere else",
    async run(lab) {
      await writeSome(lab);
      const places = [dirname(lab.workspaceDir), lab.workspaceDir, process.cwd()];
      const before = await Promise.all(places.map((place) => namesIn(place, false)));
      const left = await withFolders(lab.outsideDir, lab.patienceMs, async () => live(lab));
      assert.deepEqual(left, [], "in the home folder or the folder for temporary files");
      for (const [index, at] of places.entries()) assert.deepEqual(await namesIn(at, false), before[index], at);
    },
  },
  {
    name: "manners: prints nothing",
    async run(lab) {
      await writeSome(lab);
      assert.deepEqual(await withPrinted(async () => live(lab)), []);
      const embeddings = deterministicEmbeddings({ failEvery: 2 });
      assert.deepEqual(await withPrinted(async () => live(lab, { embeddings })), [], "while the provider fails");
    },
  },
  {
    name: "manners: leaves no promise to be rejected unseen",
    async run(lab) {
      await writeSome(lab);
      const unseen = await withRejections(async () => {
        await live(lab, { embeddings: deterministicEmbeddings({ failEvery: 2 }) });
        const opened = await lab.open();
        const controller = new AbortController();
        const running = Promise.allSettled<unknown>([
          opened.memory.search("heron", { signal: controller.signal }),
          opened.memory.sync({ force: true, signal: controller.signal }),
          opened.memory.readFile({ relPath: "../outside.md" }),
          opened.memory.search("heron"),
        ]);
        setImmediate(() => controller.abort());
        await opened.memory.close();
        await running;
      });
      assert.deepEqual(unseen, []);
    },
  },
  {
    name: "manners: after close no timer, thread or process of it is left",
    async run(lab) {
      await writeSome(lab);
      // What the host loads once and keeps is not the manager's.
      await live(lab);
      const before = await whatGoesOnRunning();
      await live(lab, { memorySearch: { sync: { watch: true, intervalMinutes: 1 } } });
      let more = new Map<string, number>();
      for (let waitedMs = 0; waitedMs <= lab.patienceMs; waitedMs += 50) {
        more = moreThan(before, await whatRuns());
        if (more.size === 0) return;
        await sleep(50);
      }
      assert.fail(`still there after close: ${[...more].map(([name, count]) => `${count} ${name}`).join(", ")}`);
    },
  },
  {
    name: "manners: the host goes on while it works",
    async run(lab) {
      const words = "the heron stood by the pond and looked at what the weather did to the reeds that day";
      for (let index = 0; index < 60; index++)
        await lab.write(`memory/${index}.md`, `# Day ${index}\n\n${`${words}, entry ${index}.\n\n`.repeat(30)}`);
      const opened = await lab.open();
      await opened.settle();
      const work = async (): Promise<void> => {
        await opened.settle({ force: true });
        await opened.ask("heron weather");
        await opened.memory.readFile({ relPath: "memory/1.md" });
        opened.memory.status();
      };
      const blocks: number[] = [];
      for (let round = 0; round < rounds && Math.min(...blocks) >= blockMs; round++)
        blocks.push(await longestBlockMs(work));
      assert.ok(Math.min(...blocks) < blockMs, `the host was blocked for ${blocks.map(Math.round).join(", ")} ms`);
    },
  },
];

/** The names in a folder and below it, sorted; none if the folder does not exist. */
async function namesIn(folder: string, recursive = true): Promise<string[]> {
  return (await readdir(folder, { recursive }).catch(() => [])).toSorted();
}

/** What keeps this process alive, and the children that it has, each by its kind with how many there are. */
async function whatRuns(): Promise<Map<string, number>> {
  // Of the runner's own there are now more and now fewer: files and one-time callbacks say nothing of a manager.
  const passing = /^(?:Immediate|FSReq|FileHandleCloseReq|.*Wrap$|.*Req)/;
  const active = process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap" || !passing.test(name));
  const groups = Map.groupBy([...active, ...(await children())], (name) => name);
  return new Map([...groups].map(([name, { length }]) => [name, length]));
}

/** The same without what ends within a moment. */
async function whatGoesOnRunning(): Promise<Map<string, number>> {
  let least = await whatRuns();
  for (let look = 0; look < 10; look++) {
    await sleep(20);
    const now = await whatRuns();
    least = new Map([...least].map(([name, count]) => [name, Math.min(count, now.get(name) ?? 0)]));
  }
  return least;
}

/** The commands of this process's children, where the platform can tell; else nothing. */
async function children(): Promise<string[]> {
  const list = await readFile(`/proc/self/task/${process.pid}/children`, "utf8").catch(() => "");
  const pids = list.split(" ").filter((pid) => pid !== "");
  return await Promise.all(
    pids.map(async (pid) => `process ${await readFile(join("/proc", pid, "comm"), "utf8").catch(() => "that ended")}`),
  );
}

function moreThan(before: Map<string, number>, now: Map<string, number>): Map<string, number> {
  return new Map([...now].filter(([name, count]) => count > (before.get(name) ?? 0)));
}
