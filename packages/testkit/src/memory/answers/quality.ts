import assert from "node:assert/strict";
import { deterministicEmbeddings } from "../../deterministic-embeddings.ts";
import data from "../../data/quality.json" with { type: "json" };
import type { MemoryCheck, MemoryLab, OpenedMemory } from "../lab/lab.ts";

interface QualityQuery {
  query: string;
  /** The file that has to come first. */
  first: string;
  /** True where no word of the query stands in the file, so that only meaning finds it. */
  paraphrase?: boolean;
}

const queries: readonly QualityQuery[] = data.queries;

async function openWithData(lab: MemoryLab): Promise<OpenedMemory> {
  for (const [path, lines] of Object.entries(data.files)) await lab.write(path, `${lines.join("\n")}\n`);
  const opened = await lab.open({ embeddings: lab.capabilities.vector ? deterministicEmbeddings() : "none" });
  await opened.settle();
  return opened;
}

/** A floor under retrieval, not a ranking: what a person would call obviously right. */
export const qualityChecks: readonly MemoryCheck[] = [
  {
    name: `quality: at least ${data.floor.all} of ${data.queries.length} queries find their file first`,
    needs: ["keyword", "vector"],
    run: (lab) => assertFloor(lab, queries, data.floor.all),
  },
  {
    name: `quality: at least ${data.floor.words} of the queries that share words with their file find it first`,
    needs: ["keyword"],
    run: (lab) =>
      assertFloor(
        lab,
        queries.filter(({ paraphrase }) => paraphrase !== true),
        data.floor.words,
      ),
  },
  {
    name: `quality: at least ${data.floor.paraphrases} of the paraphrases find their file first`,
    needs: ["vector"],
    run: (lab) =>
      assertFloor(
        lab,
        queries.filter(({ paraphrase }) => paraphrase === true),
        data.floor.paraphrases,
      ),
  },
  {
    name: "quality: every query is answered without an error",
    async run(lab) {
      const { memory } = await openWithData(lab);
      for (const { query } of queries) assert.ok(Array.isArray(await memory.search(query)));
    },
  },
];

async function assertFloor(lab: MemoryLab, asked: readonly QualityQuery[], floor: number): Promise<void> {
  const { memory } = await openWithData(lab);
  const misses: string[] = [];
  for (const { query, first } of asked) {
    const [best] = await memory.search(query);
    if (best?.path !== first) misses.push(`"${query}": ${first} expected, ${best?.path ?? "nothing"} came first`);
  }
  const right = asked.length - misses.length;
  assert.ok(right >= floor, `${right} of ${asked.length}, the floor is ${floor}\n${misses.join("\n")}`);
}
