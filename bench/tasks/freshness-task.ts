import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, lstatSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type Memory, openMemory } from "memslot";
import { percentile } from "../support/table.ts";

/** One measurement, in a process of its own: `node freshness-task.ts TASK FOLDER`. Prints its figures as JSON. */
const [task = "", folder = ""] = process.argv.slice(2);
const workspace = path.join(folder, "workspace");
const rounds = 9;

async function open(search: Record<string, unknown> = {}): Promise<Memory> {
  const memorySearch = { provider: "none", ...search };
  return await openMemory({
    config: { agents: { defaults: { memorySearch, workspace } } },
    agentId: "main",
    notify: () => {},
  });
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

/** What no look at the files can do without: each folder is listed and each file is asked for its time. */
function statWalk(place: string): number {
  let files = 0;
  for (const entry of readdirSync(place, { withFileTypes: true })) {
    const inside = path.join(place, entry.name);
    if (entry.isDirectory()) files += statWalk(inside);
    else if (lstatSync(inside).isFile()) files++;
  }
  return files;
}

/** Saved long ago, so that nothing has to be read to make sure. */
function settle(place: string): void {
  const then = new Date(2026, 0, 1);
  for (const name of readdirSync(place)) utimesSync(path.join(place, name), then, then);
}

/** Searches until it is found: where a search says that it is stale, the next one is asked. */
async function find(memory: Memory, word: string): Promise<void> {
  const until = performance.now() + 10_000;
  for (;;) {
    const [best] = await memory.search(word, { maxResults: 1 });
    if (best?.snippet.includes(word)) return;
    if (performance.now() > until) throw new Error(`${word} was not found`);
  }
}

/** Searches again and again until the work has ended. */
async function searchDuring(work: Promise<unknown>, search: (count: number) => Promise<void>): Promise<void> {
  const state = { isDone: false };
  const done = work.finally(() => (state.isDone = true));
  for (let count = 0; !state.isDone; count++) await search(count);
  await done;
}

const descriptors = (): number => readdirSync("/proc/self/fd").length;

const tasks: Record<string, () => Promise<Record<string, number>>> = {
  async unchanged() {
    settle(path.join(workspace, "memory"));
    const memory = await open({ sync: { watch: false } });
    await memory.sync();
    await memory.sync();
    const syncs: number[] = [];
    const walks: number[] = [];
    for (let round = 0; round < rounds; round++) {
      let start = process.cpuUsage();
      await memory.sync();
      syncs.push(cpuMs(start));
      start = process.cpuUsage();
      statWalk(workspace);
      walks.push(cpuMs(start));
    }
    const waits: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const word = `heureka${round}`;
      const file = path.join(workspace, "memory", "note-00007.md");
      appendFileSync(file, `\nThe word is ${word}.\n`);
      const start = performance.now();
      await find(memory, word);
      waits.push(performance.now() - start);
    }
    await memory.close();
    return {
      sync: percentile(syncs, 0.5),
      walk: percentile(walks, 0.5),
      changed: percentile(waits, 0.5),
      worst: Math.max(...waits),
    };
  },

  /** Searches while nothing changes, told by the watcher and by looking at all files, in turn. */
  async searches() {
    settle(path.join(workspace, "memory"));
    const told = await open({ sync: { watchMaxFiles: 1_000_000 } });
    const sweeping = await open({ sync: { onSearch: "sweep", watch: false } });
    const blind = await open({ sync: { onSearch: false, watch: false } });
    await told.sync();
    const untilMs = performance.now() + 60_000;
    while (told.status().freshness?.by !== "events" || told.status().watch?.mode === "off") {
      if (performance.now() > untilMs) throw new Error(`not told: ${JSON.stringify(told.status().freshness)}`);
      await told.search("project zephyr1");
      await sleep(50);
    }
    const ask = async (memory: Memory, count: number): Promise<{ cpu: number; wall: number }> => {
      const [start, startMs] = [process.cpuUsage(), performance.now()];
      await memory.search(`access code of project zephyr${count}`, { maxResults: 1 });
      return { cpu: cpuMs(start), wall: performance.now() - startMs };
    };
    const [events, searches, sweeps, walks]: Record<"cpu" | "wall", number>[][] = [[], [], [], []];
    for (let round = 0; round < 60; round++) {
      events?.push(await ask(told, round));
      searches?.push(await ask(blind, round));
      if (round % 6 > 0) continue;
      sweeps?.push(await ask(sweeping, round));
      const [start, startMs] = [process.cpuUsage(), performance.now()];
      statWalk(workspace);
      walks?.push({ cpu: cpuMs(start), wall: performance.now() - startMs });
    }
    const half = (given: typeof events, of: "cpu" | "wall"): number =>
      percentile(
        (given ?? []).map((one) => one[of]),
        0.5,
      );
    const isTold = told.status().freshness?.by === "events" ? 1 : 0;
    await told.close();
    await sweeping.close();
    await blind.close();
    return {
      isTold,
      toldCpu: half(events, "cpu"),
      toldWall: half(events, "wall"),
      blindCpu: half(searches, "cpu"),
      sweptCpu: half(sweeps, "cpu"),
      sweptWall: half(sweeps, "wall"),
      walk: half(walks, "cpu"),
    };
  },

  async loop() {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    await sleep(2000);
    const idle = delay.percentile(99) / 1e6;
    delay.reset();
    const memory = await open({ sync: { watch: false } });
    await searchDuring(memory.sync(), async (count) => {
      await memory.search(`access code of project zephyr${count % 100}`);
      await sleep(20);
    });
    for (let count = 0; count < 100; count++) await memory.search(`access code of project zephyr${count}`);
    delay.disable();
    const { chunks = 0 } = memory.status();
    await memory.close();
    return { idle, p99: delay.percentile(99) / 1e6, worst: delay.max / 1e6, chunks };
  },

  async watch() {
    const before = descriptors();
    const memory = await open();
    await memory.sync();
    const { watch } = memory.status();
    const opened = descriptors() - before;
    writeFileSync(path.join(workspace, "memory", "note-00003.md"), "The word is heureka.\n");
    await find(memory, "heureka");
    await memory.close();
    return { descriptors: opened, folders: watch?.folders ?? 0, watching: watch?.mode === "off" ? 0 : 1 };
  },

  async transcript() {
    const sessions = path.join(process.env["MEMSLOT_HOME"] ?? "", "agents", "main", "sessions");
    mkdirSync(sessions, { recursive: true });
    const file = path.join(sessions, "long.jsonl");
    let bytes = 0;
    for (let line = 0; bytes < 60e6; line++) {
      const content = `Message ${line} of a long day: ${"the talk goes on about this and that ".repeat(20)}`;
      const text = `${JSON.stringify({ type: "message", message: { role: line % 2 ? "assistant" : "user", content } })}\n`;
      appendFileSync(file, text);
      bytes += text.length;
    }
    const memory = await open({ sources: ["memory", "sessions"], sync: { watch: false } });
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let peak = before;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    const start = performance.now();
    await memory.sync();
    const seconds = (performance.now() - start) / 1000;
    clearInterval(timer);
    const { chunks = 0 } = memory.status();
    await memory.close();
    return { megabytes: (peak - before) / 1e6, seconds, chunks };
  },

  async readers() {
    const memory = await open({ sync: { watch: false, onSearch: false } });
    await memory.sync();
    const ask = async (count: number): Promise<number> => {
      const start = performance.now();
      await memory.search(`access code of project zephyr${count % 1000}`);
      return performance.now() - start;
    };
    const quiet: number[] = [];
    for (let count = 0; count < 300; count++) quiet.push(await ask(count));
    const busy: number[] = [];
    await searchDuring(memory.sync({ force: true }), async (count) => void busy.push(await ask(count)));
    const beside: number[] = [];
    const program = [...process.execArgv, import.meta.filename, "rebuild", folder];
    const other = once(spawn(process.execPath, program, { stdio: "ignore" }), "exit");
    await searchDuring(other, async (count) => void beside.push(await ask(count)));
    await memory.close();
    return {
      quiet: percentile(quiet, 0.99),
      busy: percentile(busy, 0.99),
      beside: percentile(beside, 0.99),
      searches: Math.min(busy.length, beside.length),
    };
  },

  async rebuild() {
    const memory = await open({ sync: { watch: false } });
    await memory.sync({ force: true });
    await memory.close();
    return {};
  },
};

const run = tasks[task];
if (!run) throw new Error(`there is no task ${task}`);
console.log(JSON.stringify(await run()));
