import { expect, test } from "vitest";
import {
  byScore,
  type LedgerParts,
  openDatabaseStore,
  openEmbeddedChunks,
  type ScoredId,
} from "@memslot/indexing/ledger-tables";
import { createCompanion } from "../companion.ts";
import { openVectorComparison, similarityTo, type VectorComparison } from "../vectors/compare-vectors.ts";
import { createFastLayout, type FastLayout } from "../vectors/fast-layout.ts";
import { type Kind, kinds, randomFrom, vectorsOf } from "../../test/support/vectors.ts";
import { fileOf, spaceOf } from "./stores.ts";

/** The first one answers. */
const generation = 1;

export interface Bench {
  fast: FastLayout;
  comparison: VectorComparison;
}

/** A database in memory with one chunk for each vector, in turn of one source and the other, laid out for fast search. */
export function layOut(vectors: readonly Float32Array[]): Bench {
  const space = spaceOf("m", vectors[0]?.length);
  const settings = { enabled: true };
  const tables = createCompanion({ disableFts: true, vector: settings });
  let opened: LedgerParts | undefined;
  const store = openDatabaseStore(
    { store: "memory-core", path: "/nowhere/main.sqlite", mayCreate: false, cacheMaxEntries: 50_000, busyTimeoutMs: 0 },
    {
      ...tables,
      settle(input) {
        const { open } = tables.settle(input);
        return { open: (parts) => open((opened = parts)) };
      },
    },
  );
  if (!opened) return expect.fail("no companion was opened");
  store.replaceFiles(
    ["memory", "sessions"].map((source, parity) => {
      const own = vectors.flatMap((_, index) => (index % 2 === parity ? [`${index}`] : []));
      return {
        ...fileOf("a.md", own, source),
        chunks: fileOf("a.md", own).chunks.map((chunk) => ({ ...chunk, hash: chunk.text })),
      };
    }),
  );
  store.putVectors(
    space,
    vectors.map((vector, index) => ({ hash: String(index), vector })),
  );
  const comparison = openVectorComparison(opened.db);
  const notice = (line: string): never => expect.fail(line);
  const fast = createFastLayout({ ...opened, settings, notice, comparison: () => comparison });
  const chunks = openEmbeddedChunks(opened.db, "memory-core");
  fast.settle(generation, { id: 1, dimensions: space.dimensions }, chunks);
  expect([fast.held(generation), chunks.countEmbedded(1, generation)]).toEqual([1, vectors.length]);
  return { fast, comparison };
}

/** What the table says, undefined where it gives up, and what comparing all vectors says. */
export function ask(
  { fast, comparison }: Bench,
  vector: Float32Array,
  limit: number,
  sources: readonly string[] = ["memory", "sessions"],
): { fast: ScoredId[] | undefined; exact: ScoredId[] } {
  const similarity = similarityTo(vector);
  const query = { space: spaceOf("m", vector.length), vector, sources, limit };
  const best = (ranked: ScoredId[]): ScoredId[] => ranked.toSorted(byScore).slice(0, limit);
  const ranked = fast.rank(generation, query, 1, similarity);
  return { fast: ranked && best(ranked), exact: best(comparison.all(1, similarity, generation, query)) };
}

/** That the fast answer is the exact one, for vectors that lie in each way, so many numbers long and so many. */
export function sameAnswers(sizes: readonly (readonly [dimensions: number, count: number])[]): void {
  const cases = sizes.flatMap(([dimensions, count]) =>
    kinds.map((kind): [number, number, Kind] => [dimensions, count, kind]),
  );
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
}
