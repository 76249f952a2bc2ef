import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { withNotes } from "./support/contestants.ts";
import { printTable } from "./support/table.ts";

const program = path.join(import.meta.dirname, "tasks/freshness-task.ts");
const timeoutMs = 15 * 60_000;

/**
 * How much it costs to be right: looks at files that have not changed, a search for what was saved a moment ago, the
 * event loop of the host, watching, transcripts, and searches during a rebuild.
 */
export async function benchFreshness(files: number): Promise<void> {
  const rows: string[][] = [];
  await withNotes(files, ({ folder }) => {
    const { sync = 0, walk = 0, changed = 0, worst = 0 } = runTask("unchanged", folder);
    rows.push([
      `sync of ${files} files, nothing changed, CPU`,
      `${sync.toFixed(0)} ms`,
      "100 ms",
      `${(sync / walk).toFixed(1)}x listing and stat alone (${walk.toFixed(0)} ms)`,
    ]);
    rows.push([
      `search for what was saved in one of ${files} files`,
      `${changed.toFixed(0)} ms`,
      "150 ms",
      `longest ${worst.toFixed(0)} ms`,
    ]);
  });
  for (const [notes, goal] of [
    [2000, 3],
    [20_000, 8],
  ] as const) {
    await withNotes(notes, ({ folder }) => {
      const { isTold, toldCpu = 0, toldWall = 0, sweptCpu = 0, sweptWall = 0, ...rest } = runTask("searches", folder);
      const { blindCpu = 0, walk = 0 } = rest;
      rows.push([
        `search, nothing changed, ${notes} files, ${isTold ? "told by the watcher" : "NOT told"}, CPU`,
        `${toldCpu.toFixed(1)} ms`,
        `${goal} ms`,
        `${toldWall.toFixed(1)} ms on the clock; ${blindCpu.toFixed(1)} ms with sync.onSearch false`,
      ]);
      rows.push([
        `the same with sync.onSearch "sweep", CPU`,
        `${sweptCpu.toFixed(1)} ms`,
        notes === 20_000 ? "40 ms" : "",
        `${(sweptCpu / toldCpu).toFixed(0)}x; ${sweptWall.toFixed(1)} ms on the clock; ${(sweptCpu / walk).toFixed(1)}x listing and stat alone (${walk.toFixed(0)} ms)`,
      ]);
    });
  }
  await withNotes(2500, ({ folder }) => {
    const { idle = 0, p99 = 0, worst = 0, chunks = 0 } = runTask("loop", folder);
    rows.push([
      `event loop delay p99, ${chunks} chunks indexed and searched`,
      `${p99.toFixed(0)} ms`,
      "50 ms",
      `idle ${idle.toFixed(0)} ms, longest ${worst.toFixed(0)} ms`,
    ]);
  });
  await withNotes(2000, ({ folder }) => {
    const { quiet = 0, busy = 0, beside = 0, searches = 0 } = runTask("readers", folder);
    for (const [where, p99] of [
      ["another", beside],
      ["the same", busy],
    ] as const) {
      rows.push([
        `search p99 during a rebuild in ${where} process over the quiet one`,
        `${(p99 / quiet).toFixed(1)}x`,
        "3x",
        `${quiet.toFixed(0)} and ${p99.toFixed(0)} ms, at least ${searches} searches`,
      ]);
    }
  });
  await withNotes(20_000, ({ folder }) => {
    const { descriptors = 0, folders = 0, watching = 0 } = runTask("watch", folder, 256);
    rows.push([
      "file descriptors for 20,000 files, ulimit -n 256",
      String(descriptors),
      "10 for watching",
      `${watching ? "watches" : "does not watch"} ${folders} folders; the index and its thread are among them`,
    ]);
  });
  await withNotes(10, ({ folder }) => {
    const { megabytes = 0, seconds = 0, chunks = 0 } = runTask("transcript", folder);
    rows.push([
      "memory for a transcript of 60 MB",
      `${megabytes.toFixed(0)} MB`,
      "150 MB",
      `${chunks} chunks in ${seconds.toFixed(0)} s`,
    ]);
  });
  printTable("what it costs to be right, keyword mode", ["", "measured", "aimed at", "beside it"], rows);
}

/** Runs one task in a process of its own, with so many file descriptors where that is limited. */
function runTask(task: string, folder: string, descriptors?: number): Record<string, number> {
  console.error(`measuring ${task} …`);
  const home = path.join(folder, "home");
  mkdirSync(home, { recursive: true });
  const command = [process.execPath, "--conditions=@memslot/source", "--expose-gc", program, task, folder];
  const limited =
    descriptors === undefined ? command : ["sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`, ...command];
  const [file = "", ...given] = limited;
  const run = spawnSync(file, given, {
    encoding: "utf8",
    timeout: timeoutMs,
    env: { PATH: process.env["PATH"], HOME: home, MEMSLOT_HOME: path.join(home, ".memslot") },
  });
  if (run.status !== 0) throw new Error(`${task} ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
  return JSON.parse(run.stdout) as Record<string, number>;
}
