import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { memslot, withNotes } from "./support/contestants.ts";
import { median, percentile, printTable } from "./support/table.ts";

const starts = 9;
const timeoutMs = 10 * 60_000;
/** Milliseconds. */
const aimReady = 150;

interface Start {
  importMs: number;
  readyMs: number;
  cpuMs: number;
  searchMs: number;
  nextMs: number;
}

interface Turns {
  off: number[];
  soft: number[];
  drop: number[];
}

/**
 * The host's side: how long the start of a session takes in a fresh process with an index that is there, and how long
 * the user waits for a reply with no flush, with one that goes on behind, and with messages handed over before a drop.
 */
export async function benchAgent(files: number): Promise<void> {
  await withNotes(files, ({ folder, workspace }) => {
    const today = new Date().toISOString().slice(0, 10);
    writeFileSync(path.join(workspace, "memory", `${today}.md`), `# ${today}\n\n- A day like others.\n`);
    const { environment, index } = memslot(folder, workspace, { provider: "none" });
    run(index, environment);
    const runs = Array.from({ length: starts }, () => task<Start>("agent-start", workspace, environment));
    const row = (label: string, of: (start: Start) => number, aim = ""): string[] => [
      label,
      `${median(runs.map(of)).toFixed(0)} ms`,
      `${Math.min(...runs.map(of)).toFixed(0)} to ${Math.max(...runs.map(of)).toFixed(0)} ms`,
      aim,
    ];
    printTable(
      `start of a session, ${files} notes of 4 kB with an index that is there, fresh processes, median of ${starts}`,
      ["", "median", "all", "aimed at"],
      [
        row("loading the library", ({ importMs }) => importMs),
        row("memory open and notes of the session ready", ({ readyMs }) => readyMs, `${aimReady} ms`),
        row("the same, processor time of all threads", ({ cpuMs }) => cpuMs),
        row("first search after it", ({ searchMs }) => searchMs),
        row("the next session in the same process", ({ nextMs }) => nextMs, `${aimReady} ms`),
      ],
    );

    console.error("measuring turns …");
    const turns = task<Turns>("agent-turn", workspace, environment);
    const turnRow = (label: string, values: readonly number[], aim = ""): string[] => [
      label,
      `${median(values).toFixed(1)} ms`,
      `${percentile(values, 0.95).toFixed(1)} ms`,
      `${(median(values) / median(turns.off)).toFixed(2)}x`,
      aim,
    ];
    printTable(
      `the user's turn, from the message to the reply on disk: a model of 50 ms with one search; a flush of 2 s`,
      ["", "p50", "p95", "ratio", "aimed at"],
      [
        turnRow(`no flush, ${turns.off.length} turns`, turns.off),
        turnRow(`a flush behind it, ${turns.soft.length} turns`, turns.soft, "1.00x"),
        turnRow(`40 messages handed over before it, ${turns.drop.length} turns`, turns.drop),
      ],
    );
  });
}

/** Runs a program of this folder on the built packages, and gives what it prints as JSON. */
function task<Result>(name: string, workspace: string, environment: NodeJS.ProcessEnv): Result {
  return JSON.parse(
    run([path.join(import.meta.dirname, "tasks", `${name}-task.ts`), workspace], environment),
  ) as Result;
}

function run(program: readonly string[], env: NodeJS.ProcessEnv): string {
  const ended = spawnSync(process.execPath, program, { encoding: "utf8", env, timeout: timeoutMs });
  if (ended.status !== 0)
    throw new Error(`${program.join(" ")} ended with ${ended.status ?? ended.signal}: ${ended.stderr.slice(-2000)}`);
  return ended.stdout;
}
