import assert from "node:assert/strict";
import { type StoreCheck, fileOf, sha256, vectorOf } from "../lab.ts";
import { byNumber, dimensions, embedAll, one } from "./vector-lab.ts";

/** What a store does with vectors. */
export const vectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: a pending chunk comes with its text and context",
    needs: ["vector"],
    async run({ store }) {
      const chunks = fileOf("a.md", ["text of it"]).chunks.map((chunk) => ({ ...chunk, context: "Heading" }));
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks }]);
      await store.useSpace(one);
      assert.deepEqual(await store.pendingVectors(one, 5), [
        { hash: sha256("text of it"), context: "Heading", text: "text of it" },
      ]);
    },
  },
  {
    name: "vector: the ranking and the scores are those of the exact cosine",
    needs: ["vector"],
    async run({ store }) {
      const numbers = Array.from({ length: 300 }, (_, index) => String(index));
      await store.replaceFiles([fileOf("a.md", numbers)]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      for (const seed of [5000, 5001, 5002]) {
        const query = vectorOf(seed, dimensions);
        const { rows } = await store.searchVector({ space: one, vector: query, sources: ["memory"], limit: 12 });
        const exact = numbers
          .map((text) => ({ text, score: dot(query, byNumber(text)) }))
          .toSorted((left, right) => right.score - left.score)
          .slice(0, 12);
        assert.deepEqual(
          rows.map((row) => row.text),
          exact.map((row) => row.text),
        );
        for (const [index, row] of rows.entries())
          assert.ok(
            Math.abs(row.score - (exact[index]?.score ?? 9)) < 1e-4,
            `${row.score} is not ${exact[index]?.score}`,
          );
      }
    },
  },
  {
    name: "vector: a chunk is nearest to its own vector, with score 1, and to the opposite with -1",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      const same = await store.searchVector({ space: one, vector: byNumber("1"), sources: ["memory"], limit: 1 });
      const opposite = await store.searchVector({
        space: one,
        vector: byNumber("1").map((value) => -value),
        sources: ["memory"],
        limit: 1,
      });
      assert.ok(Math.abs((same.rows[0]?.score ?? 0) - 1) < 1e-4);
      assert.ok(Math.abs((opposite.rows[0]?.score ?? 0) + 1) < 1e-4);
    },
  },
  {
    name: "vector: sources are filtered before the limit",
    needs: ["vector"],
    async run({ store }) {
      const near = Array.from({ length: 500 }, (_, index) =>
        fileOf(`sessions/${index}.jsonl`, [`near ${index}`], { source: "sessions" }),
      );
      await store.replaceFiles([...near, fileOf("memory/a.md", ["far"])]);
      await store.useSpace(one);
      const query = vectorOf(1, dimensions);
      await embedAll(store, one, (text) => (text === "far" ? vectorOf(2, dimensions) : query));
      const { rows } = await store.searchVector({ space: one, vector: query, sources: ["memory"], limit: 1 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["memory/a.md"],
      );
      assert.deepEqual(
        (await store.searchVector({ space: one, vector: query, sources: ["nobody's"], limit: 5 })).rows,
        [],
      );
    },
  },
  {
    name: "vector: a row carries its chunk, and removed chunks are not found",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("memory/a.md", ["1"]), fileOf("memory/b.md", ["2"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.removeFiles([{ path: "memory/b.md", source: "memory" }]);
      const { rows } = await store.searchVector({ space: one, vector: byNumber("2"), sources: ["memory"], limit: 5 });
      assert.equal(rows.length, 1);
      const { id: _id, score: _score, ...row } = rows[0] ?? assert.fail();
      assert.deepEqual(row, {
        path: "memory/a.md",
        source: "memory",
        startLine: 1,
        endLine: 1,
        text: "1",
        context: "",
      });
    },
  },
  {
    name: "vector: the probe says that the leg works",
    needs: ["vector"],
    async run({ store }) {
      assert.equal(await store.probeVector(), true);
    },
  },
];

function dot(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}
