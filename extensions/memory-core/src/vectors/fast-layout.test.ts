import { expect, test } from "vitest";
import { byScore, createRowReader, type ScoredId } from "../chunk-rows.ts";
import { similarityTo } from "./cosine.ts";
import { type EmbeddedChunks, openEmbeddedChunks } from "./embedded-chunks.ts";
import { createFastLayout, type FastLayout } from "./fast-layout.ts";
import { createFileTables } from "../file-tables.ts";
import { openGenerations } from "../generations/generations.ts";
import { openInMemory } from "../file/open-file.ts";
import { createTransactions } from "../transactions.ts";
import { createVectors } from "./vectors.ts";
import { fileOf, spaceOf } from "../test/stores.ts";
import { type Kind, kinds, randomFrom, vectorsOf } from "../../test/support/vectors.ts";

/** The first one answers. */
const generation = 1;

interface Bench {
  fast: FastLayout;
  chunks: EmbeddedChunks;
}

/** A database in memory with one chunk for each vector, in turn of one source and the other, laid out for fast search. */
function layOut(vectors: readonly Float32Array[]): Bench {
  const space = spaceOf("m", vectors[0]?.length);
  const { db, meta } = openInMemory({
    path: "",
    vector: { enabled: true },
    cacheMaxEntries: 0,
    busyTimeoutMs: 0,
    disableFts: true,
  });
  const transactions = createTransactions(db, {
    beforeFirstWrite: () => undefined,
    beforeWrite: () => undefined,
    afterWrite: () => undefined,
  });
  const settings = { enabled: true };
  const fails = (line: string): never => expect.fail(line);
  const generations = openGenerations(db, meta, false);
  const both = { db, meta, transactions, generations, settings, notice: fails };
  const { calls, listener } = createVectors({ ...both, readRows: createRowReader(db), cacheMaxEntries: 50_000 });
  const files = createFileTables({ ...both, indexWords: false, listener })({
    generation: () => generation,
    changed: () => undefined,
  });
  files.replaceFiles(
    ["memory", "sessions"].map((source, parity) => {
      const own = vectors.flatMap((_, index) => (index % 2 === parity ? [`${index}`] : []));
      return {
        ...fileOf("a.md", own, source),
        chunks: fileOf("a.md", own).chunks.map((chunk) => ({ ...chunk, hash: chunk.text })),
      };
    }),
  );
  calls.putVectors(
    space,
    vectors.map((vector, index) => ({ hash: String(index), vector })),
  );
  const fast = createFastLayout(both);
  const chunks = openEmbeddedChunks(db);
  fast.settle(generation, { id: 1, dimensions: space.dimensions }, chunks);
  expect([fast.held(generation), chunks.countEmbedded(1, generation)]).toEqual([1, vectors.length]);
  return { fast, chunks };
}

/** What the table says, undefined where it gives up, and what comparing all vectors says. */
function ask(
  { fast, chunks }: Bench,
  vector: Float32Array,
  limit: number,
  sources: readonly string[] = ["memory", "sessions"],
): { fast: ScoredId[] | undefined; exact: ScoredId[] } {
  const similarity = similarityTo(vector);
  const query = { space: spaceOf("m", vector.length), vector, sources, limit };
  const best = (ranked: ScoredId[]): ScoredId[] => ranked.toSorted(byScore).slice(0, limit);
  const ranked = fast.rank(generation, query, 1, similarity, chunks);
  return { fast: ranked && best(ranked), exact: best(chunks.compareAll(1, similarity, generation, query)) };
}

const cases: [number, number, Kind][] = [
  [8, 6000],
  [64, 3000],
  [384, 1200],
  [768, 1000],
].flatMap(([dimensions = 0, count = 0]) => kinds.map((kind): [number, number, Kind] => [dimensions, count, kind]));

test.each(cases)(
  "in %i dimensions, %i vectors, %s: the answer is that of comparing all of them",
  (dimensions, count, kind) => {
    const random = randomFrom(dimensions + kind.length);
    const vectors = vectorsOf(kind, dimensions, count + 12, random);
    const bench = layOut(vectors.slice(12));
    for (const [index, query] of vectors.slice(0, 12).entries()) {
      const limit = [1, 6, 24, 60][index % 4] ?? 1;
      const sources = index % 3 === 0 ? ["memory"] : ["memory", "sessions", "nobody's"];
      const answer = ask(bench, query, limit, sources);
      expect(answer.exact).toHaveLength(limit);
      if (answer.fast) expect(answer.fast).toEqual(answer.exact);
      // Only where thousands of vectors lie closer together than rounding can tell may it give up.
      else expect([kind, dimensions]).toEqual(["dense", 8]);
    }
  },
);

test("of more equal vectors than it can list, it does not choose", () => {
  const bench = layOut(Array.from({ length: 9000 }, () => Float32Array.of(0.6, 0.8)));
  const answer = ask(bench, Float32Array.of(1, 0), 3);
  expect(answer.fast).toBeUndefined();
  expect(answer.exact.map(({ id }) => id)).toEqual([1, 2, 3]);
});

test("a query that rounding turns does not lead to wrong answers where the vectors themselves are not turned", () => {
  // Whole numbers, which rounding leaves alone, all at nearly the same angle to the first axis.
  const near = (square: number): boolean => Math.abs(square - 10_000) < 50;
  const vectors: Float32Array[] = [];
  for (let x = -102; x <= 102; x += 2)
    for (let y = -102; y <= 102; y += 2)
      for (let z = -102; z <= 102; z += 3) if (near(x * x + y * y + z * z)) vectors.push(Float32Array.of(127, x, y, z));
  expect(vectors.length).toBeGreaterThan(5000);
  const answer = ask(layOut(vectors), Float32Array.of(1, 0.003, 0.002, -0.001), 24);
  expect(answer.fast ?? answer.exact).toEqual(answer.exact);
});

test("vectors of any length and size are laid out by their direction", () => {
  const bench = layOut([
    Float32Array.of(3e-30, 4e-30),
    Float32Array.of(3e15, -4e15),
    Float32Array.of(-1, 1e-9),
    Float32Array.of(1e-20, 7),
  ]);
  const answer = ask(bench, Float32Array.of(0.1, 0.9), 4);
  expect(answer.fast?.map(({ id }) => id)).toEqual(answer.exact.map(({ id }) => id));
  expect(answer.fast).toHaveLength(4);
});
