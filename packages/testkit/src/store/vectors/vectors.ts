import assert from "node:assert/strict";
import { type StoreCheck, fileOf, hashOf, textOf } from "../lab.ts";
import { byNumber, dimensions, embed, one, rowsNear, textsNear, vectorOf } from "./vector-lab.ts";

/** What a store answers to vectors. */
export const vectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: the ranking and the scores are those of the exact cosine",
    async run({ store }) {
      const numbers = Array.from({ length: 300 }, (_, index) => String(index));
      await store.replaceFiles([fileOf("a.md", numbers)]);
      await embed(store, one, numbers);
      for (const seed of [5000, 5001, 5002]) {
        const query = vectorOf(seed, dimensions);
        const rows = await rowsNear(store, one, query, 12);
        const exact = numbers
          .map((text) => ({ text, score: dot(query, byNumber(text)) }))
          .toSorted((left, right) => right.score - left.score)
          .slice(0, 12);
        assert.deepEqual(
          rows.map(textOf),
          exact.map((row) => row.text),
        );
        for (const [index, { score }] of rows.entries())
          assert.ok(Math.abs(score - (exact[index]?.score ?? 9)) < 1e-4, `${score} is not ${exact[index]?.score}`);
      }
    },
  },
  {
    name: "vector: a chunk is nearest to its own vector, with score 1, and to the opposite with -1",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      await embed(store, one, ["1"]);
      const [same] = await rowsNear(store, one, byNumber("1"), 1);
      const opposite = byNumber("1").map((value) => -value);
      const [far] = await rowsNear(store, one, opposite, 1);
      assert.ok(Math.abs((same?.score ?? 0) - 1) < 1e-4, `the score of the same is ${same?.score}`);
      assert.ok(Math.abs((far?.score ?? 0) + 1) < 1e-4, `the score of the opposite is ${far?.score}`);
    },
  },
  {
    name: "vector: a row names its chunk, and removed chunks are not found",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("memory/a.md", ["3", "1"]),
        fileOf("memory/b.md", ["2"]),
        fileOf("s.jsonl", ["4"], { source: "sessions" }),
      ]);
      await embed(store, one, ["1", "2", "4"]);
      await store.removeFiles([{ path: "memory/b.md", source: "memory" }]);
      const rows = await rowsNear(store, one, byNumber("1"));
      assert.deepEqual(
        rows.map(({ path, source, startLine, hash }) => ({ path, source, startLine, hash })),
        [
          { path: "memory/a.md", source: "memory", startLine: 11, hash: hashOf("1") },
          { path: "s.jsonl", source: "sessions", startLine: 1, hash: hashOf("4") },
        ],
      );
    },
  },
  {
    name: "vector: chunks of one text are all found by its vector",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.jsonl", ["1"], { source: "sessions" }),
        fileOf("b.md", ["1", "2", "1"]),
        fileOf("c.md", ["2"]),
      ]);
      await embed(store, one, ["1", "2"]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 3), ["1", "1", "1"]);
      assert.equal((await textsNear(store, one, byNumber("1"))).length, 5);
      const { rows } = await store.searchVector({ space: one, vector: byNumber("1"), sources: ["memory"], limit: 2 });
      assert.deepEqual(rows.map(({ path }) => path).toSorted(), ["b.md", "b.md"]);
    },
  },
  {
    name: "vector: limit cuts the farthest",
    async run({ store }) {
      const numbers = Array.from({ length: 30 }, (_, index) => String(index));
      await store.replaceFiles([fileOf("a.md", numbers)]);
      await embed(store, one, numbers);
      const all = await rowsNear(store, one, byNumber("7"), 100);
      assert.equal(all.length, numbers.length);
      assert.deepEqual(await rowsNear(store, one, byNumber("7"), 4), all.slice(0, 4));
    },
  },
  {
    name: "vector: sources are filtered before the limit",
    async run({ store }) {
      const texts = Array.from({ length: 500 }, (_, index) => `near ${index}`);
      const near = texts.map((text, index) => fileOf(`sessions/${index}.jsonl`, [text], { source: "sessions" }));
      await store.replaceFiles([...near, fileOf("memory/a.md", ["far"])]);
      const query = vectorOf(1, dimensions);
      await embed(store, one, [...texts, "far"], (text) => (text === "far" ? vectorOf(2, dimensions) : query));
      const { rows } = await store.searchVector({ space: one, vector: query, sources: ["memory"], limit: 1 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["memory/a.md"],
      );
      const none = await store.searchVector({ space: one, vector: query, sources: ["nobody's"], limit: 5 });
      assert.deepEqual(none.rows, []);
    },
  },
  {
    name: "vector: a chunk is found from its vector on, and not before",
    async run({ store }) {
      const texts = ["1", "2", "3"];
      await store.replaceFiles([fileOf("a.md", texts)]);
      for (const [index, text] of texts.entries()) {
        assert.equal((await textsNear(store, one, byNumber("3"))).length, index);
        await embed(store, one, [text]);
        assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
      }
    },
  },
  {
    name: "vector: one of another length is refused, or does no harm",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1"]);
      await embed(store, one, ["2"], () => vectorOf(2, dimensions + 1)).catch(() => undefined);
      await rowsNear(store, one, vectorOf(2, dimensions - 1)).catch(() => undefined);
      const [first] = await rowsNear(store, one, byNumber("1"));
      assert.deepEqual([first && textOf(first), (first?.score ?? 0) > 0.999], ["1", true]);
      await embed(store, one, ["1", "2"]);
      for (const text of ["1", "2"]) assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
    },
  },
];

function dot(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}
