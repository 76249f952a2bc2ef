import { mkdirSync } from "node:fs";
import { scaleEngines } from "./engines.ts";
import { chunkBlocks, readQueries, readTruth, recallDepth, writeVectors } from "./synthetic.ts";

/**
 * One engine with one number of chunks, in a process of its own, so that no two of them share a library or a cache:
 * `node scale-task.ts vectors FOLDER SIZES QUERIES`, `… build ENGINE FOLDER CHUNKS INDEX`, `… serve ENGINE FOLDER CHUNKS
 * INDEX`. The last one answers messages until its parent goes.
 */
export interface Asked {
  kind: "vector" | "hybrid";
  /** Numbers of queries. */
  queries: readonly number[];
  limit: number;
}

export interface Answered {
  /** Milliseconds of each query. */
  wallMs: number[];
  /** User and system time of all threads of the process. */
  cpuMs: number[];
  /** Of each query, the share of the ten nearest that is among the first ten. Empty for `hybrid`. */
  recall: number[];
  /** The most that the process has had so far. */
  rssMegabytes: number;
}

const [mode = "", ...args] = process.argv.slice(2);
if (mode === "vectors") {
  const [folder = "", sizes = "", queries = ""] = args;
  writeVectors(folder, sizes.split(",").map(Number), Number(queries));
} else {
  const [name = "", folder = "", chunks = "", index = ""] = args;
  const engine = scaleEngines().find((one) => one.name === name);
  if (engine === undefined) throw new Error(`there is no engine "${name}"`);
  if (mode === "build") {
    mkdirSync(index, { recursive: true });
    await engine.build(index, chunkBlocks(folder, Number(chunks)));
  } else {
    const queries = readQueries(folder);
    const truth = readTruth(folder, Number(chunks));
    const opened = await engine.open(index);
    process.on("message", (asked: Asked) => void answer(asked).then((answered) => process.send?.(answered)));
    process.once("disconnect", () => void opened.close());
    process.send?.("ready");

    async function answer({ kind, queries: numbers, limit }: Asked): Promise<Answered> {
      const answered: Answered = { wallMs: [], cpuMs: [], recall: [], rssMegabytes: 0 };
      for (const number of numbers) {
        const query = queries[number];
        if (query === undefined) throw new Error(`there is no query ${number}`);
        const cpu = process.cpuUsage();
        const started = performance.now();
        const found = await (kind === "vector" ? opened.vector(query, limit) : opened.hybrid(query, limit));
        answered.wallMs.push(performance.now() - started);
        const { user, system } = process.cpuUsage(cpu);
        answered.cpuMs.push((user + system) / 1000);
        if (typeof found === "number") {
          if (found === 0) throw new Error(`query ${number} found nothing`);
        } else {
          const right = new Set(truth[number]);
          answered.recall.push(found.slice(0, recallDepth).filter((one) => right.has(one)).length / right.size);
        }
      }
      answered.rssMegabytes = process.resourceUsage().maxRSS / 1024;
      return answered;
    }
  }
}
