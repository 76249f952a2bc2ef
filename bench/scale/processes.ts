import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { EngineMeasure } from "./rows.ts";
import type { Answered, Asked } from "./scale-task.ts";

const task = path.join(import.meta.dirname, "scale-task.ts");
const execArgv = ["--conditions=@memslot/source"];
/** Rows of one search, as of six results with four candidates each. */
const limit = 24;
const rounds = 5;
const queriesARound = 8;
/** A slow engine answers fewer queries, but one in each round. */
const roundMs = 4000;
const answerTimeoutMs = 10 * 60_000;

/** Runs one task to its end. Rejects with what it said when it fails, or takes longer than this. */
export async function runTask(args: readonly string[], timeoutMs: number): Promise<void> {
  const child = start(args);
  const over = setTimeout(() => child.process.kill("SIGKILL"), timeoutMs);
  try {
    await child.ended;
  } finally {
    clearTimeout(over);
  }
}

/**
 * Asks engines whose indexes are there, each in a process of its own: first each some queries that are not counted, then
 * in rounds, one after the other. An engine that fails is passed to `fail` and excluded.
 */
export async function measureEngines(input: {
  names: readonly string[];
  folder: string;
  chunks: number;
  queryCount: number;
  fail: (engine: string, reason: string) => void;
}): Promise<Map<string, EngineMeasure>> {
  const { folder, chunks, queryCount, fail } = input;
  const measures = new Map<string, EngineMeasure>();
  const serving = new Map<string, { child: Serving; queries: number }>();
  const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      fail(name, String(error));
      serving.get(name)?.child.process.kill("SIGKILL");
      serving.delete(name);
      measures.delete(name);
    }
  };
  try {
    for (const name of input.names) {
      await attempt(name, async () => {
        const child = start(["serve", name, folder, String(chunks), path.join(folder, name)]);
        serving.set(name, { child, queries: 1 });
        await child.answer();
        const first = { queries: [0], limit };
        await child.ask({ kind: "hybrid", ...first });
        await child.ask({ kind: "vector", ...first });
        const { wallMs } = await child.ask({ kind: "vector", queries: [1], limit });
        const queries = Math.max(1, Math.min(queriesARound, Math.floor(roundMs / (wallMs[0] ?? roundMs))));
        serving.set(name, { child, queries });
        measures.set(name, { wallMs: [], cpuMs: [], recall: [], hybridMs: [], rssMegabytes: 0 });
      });
    }
    for (let round = 0; round < rounds; round++) {
      for (const [name, { child, queries }] of serving) {
        await attempt(name, async () => {
          const numbers = Array.from({ length: queries }, (_, at) => (round * queriesARound + at) % queryCount);
          const measure = measures.get(name);
          const near = await child.ask({ kind: "vector", queries: numbers, limit });
          const both = await child.ask({ kind: "hybrid", queries: numbers, limit });
          measure?.wallMs.push(...near.wallMs);
          measure?.cpuMs.push(...near.cpuMs);
          measure?.recall.push(...near.recall);
          measure?.hybridMs.push(...both.wallMs);
          if (measure !== undefined) measure.rssMegabytes = both.rssMegabytes;
        });
      }
    }
    for (const [name, { child }] of serving) await attempt(name, () => child.stop());
    return measures;
  } finally {
    for (const { child } of serving.values()) child.process.kill("SIGKILL");
  }
}

interface Serving {
  process: ChildProcess;
  /** Resolves when it has ended well. */
  ended: Promise<void>;
  answer: () => Promise<Answered>;
  ask: (asked: Asked) => Promise<Answered>;
  stop: () => Promise<void>;
}

function start(args: readonly string[]): Serving {
  const child = fork(task, args, { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-2000);
  });
  const ended = once(child, "exit").then(([code, signal]: (number | string | null)[]) => {
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code ?? signal}: ${said}`);
  });
  // Met where it is awaited; an engine that is stopped on purpose ends with a signal.
  ended.catch(() => undefined);
  const answer = async (): Promise<Answered> => {
    const over = AbortSignal.timeout(answerTimeoutMs);
    const gone = ended.then(() => {
      throw new Error(`${args.join(" ")} ended without an answer`);
    });
    const [answered] = (await Promise.race([once(child, "message", { signal: over }), gone])) as [Answered];
    return answered;
  };
  return {
    process: child,
    ended,
    answer,
    ask: (asked) => {
      child.send(asked);
      return answer();
    },
    async stop() {
      child.disconnect();
      await ended;
    },
  };
}
