import assert from "node:assert/strict";
import type { ChunkStore } from "@memslot/indexing";
import { type StoreCheck, bothSources, fileOf, sha256, spaceOf, vectorOf } from "./lab.ts";

const dimensions = 24;

/** Gives every pending chunk the vector that its text's number stands for. */
async function embedAll(store: ChunkStore, vectorFor: (text: string) => Float32Array): Promise<number> {
  const pending = await store.pendingVectors(10_000);
  await store.putVectors(pending.map(({ hash, text }) => ({ hash, vector: vectorFor(text) })));
  return pending.length;
}

async function texts(store: ChunkStore, vector: Float32Array, limit = 10): Promise<string[]> {
  const { rows } = await store.searchVector({ vector, sources: bothSources, limit });
  return rows.map((row) => row.text);
}

const byNumber = (text: string): Float32Array => vectorOf(Number(text), dimensions);

/** What a store does with vectors. */
export const vectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: chunks without a vector are pending, each hash once, until they have one",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2", "2"]), { ...fileOf("b.md", []), chunks: fileOf("b.md", ["2"]).chunks.map((chunk) => ({ ...chunk, startLine: 90, endLine: 90 })) }]);
      await store.useSpace(spaceOf("m", dimensions));
      const pending = await store.pendingVectors(10);
      assert.deepEqual(pending.map(({ text }) => text).toSorted(), ["1", "2"]);
      assert.deepEqual(pending.map(({ hash }) => hash).toSorted(), [sha256("1"), sha256("2")].toSorted());
      assert.equal((await store.pendingVectors(1)).length, 1);
      await store.putVectors([{ hash: sha256("1"), vector: vectorOf(1, dimensions) }]);
      assert.deepEqual((await store.pendingVectors(10)).map(({ text }) => text), ["2"]);
      assert.equal((await store.stats()).embedded, 1);
      await store.putVectors([{ hash: sha256("2"), vector: vectorOf(2, dimensions) }]);
      assert.deepEqual(await store.pendingVectors(10), []);
      assert.equal((await store.stats()).embedded, 4, "chunks that have a vector, not vectors");
    },
  },
  {
    name: "vector: a pending chunk comes with its text and context",
    needs: ["vector"],
    async run({ store }) {
      const chunks = fileOf("a.md", ["text of it"]).chunks.map((chunk) => ({ ...chunk, context: "Heading" }));
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks }]);
      await store.useSpace(spaceOf("m", dimensions));
      assert.deepEqual(await store.pendingVectors(5), [{ hash: sha256("text of it"), context: "Heading", text: "text of it" }]);
    },
  },
  {
    name: "vector: the ranking and the scores are those of the exact cosine",
    needs: ["vector"],
    async run({ store }) {
      const numbers = Array.from({ length: 300 }, (_, index) => String(index));
      await store.replaceFiles([fileOf("a.md", numbers)]);
      await store.useSpace(spaceOf("m", dimensions));
      await embedAll(store, byNumber);
      for (const seed of [5000, 5001, 5002]) {
        const query = vectorOf(seed, dimensions);
        const { rows } = await store.searchVector({ vector: query, sources: ["memory"], limit: 12 });
        const exact = numbers.map((text) => ({ text, score: dot(query, byNumber(text)) })).toSorted((left, right) => right.score - left.score).slice(0, 12);
        assert.deepEqual(rows.map((row) => row.text), exact.map((row) => row.text));
        for (const [index, row] of rows.entries()) assert.ok(Math.abs(row.score - (exact[index]?.score ?? 9)) < 1e-4, `${row.score} is not ${exact[index]?.score}`);
      }
    },
  },
  {
    name: "vector: a chunk is nearest to its own vector, with score 1, and to the opposite with -1",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      await store.useSpace(spaceOf("m", dimensions));
      await embedAll(store, byNumber);
      const same = await store.searchVector({ vector: byNumber("1"), sources: ["memory"], limit: 1 });
      const opposite = await store.searchVector({ vector: byNumber("1").map((value) => -value), sources: ["memory"], limit: 1 });
      assert.ok(Math.abs((same.rows[0]?.score ?? 0) - 1) < 1e-4);
      assert.ok(Math.abs((opposite.rows[0]?.score ?? 0) + 1) < 1e-4);
    },
  },
  {
    name: "vector: sources are filtered before the limit",
    needs: ["vector"],
    async run({ store }) {
      const near = Array.from({ length: 500 }, (_, index) => fileOf(`sessions/${index}.jsonl`, [`near ${index}`], { source: "sessions" }));
      await store.replaceFiles([...near, fileOf("memory/a.md", ["far"])]);
      await store.useSpace(spaceOf("m", dimensions));
      const query = vectorOf(1, dimensions);
      await embedAll(store, (text) => (text === "far" ? vectorOf(2, dimensions) : query));
      const { rows } = await store.searchVector({ vector: query, sources: ["memory"], limit: 1 });
      assert.deepEqual(rows.map((row) => row.path), ["memory/a.md"]);
      assert.deepEqual((await store.searchVector({ vector: query, sources: ["nobody's"], limit: 5 })).rows, []);
    },
  },
  {
    name: "vector: a row carries its chunk, and removed chunks are not found",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("memory/a.md", ["1"]), fileOf("memory/b.md", ["2"])]);
      await store.useSpace(spaceOf("m", dimensions));
      await embedAll(store, byNumber);
      await store.removeFiles([{ path: "memory/b.md", source: "memory" }]);
      const { rows } = await store.searchVector({ vector: byNumber("2"), sources: ["memory"], limit: 5 });
      assert.equal(rows.length, 1);
      const { id: _id, score: _score, ...row } = rows[0] ?? assert.fail();
      assert.deepEqual(row, { path: "memory/a.md", source: "memory", startLine: 1, endLine: 1, text: "1", context: "" });
    },
  },
  {
    name: "vector: an unchanged chunk of a replaced file needs no new vector",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(spaceOf("m", dimensions));
      await embedAll(store, byNumber);
      await store.replaceFiles([fileOf("a.md", ["2", "3"])]);
      assert.deepEqual((await store.pendingVectors(10)).map(({ text }) => text), ["3"]);
      assert.deepEqual(await texts(store, byNumber("2")), ["2"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      await store.replaceFiles([fileOf("renamed.md", ["2", "3"])]);
      assert.deepEqual((await store.pendingVectors(10)).map(({ text }) => text), ["3"], "nor does a renamed file");
    },
  },
  {
    name: "vector: two spaces of one width never mix",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const swapped = (text: string): Float32Array => byNumber(text === "1" ? "2" : "1");
      await store.useSpace(spaceOf("one", dimensions));
      await embedAll(store, byNumber);
      await store.useSpace(spaceOf("two", dimensions));
      assert.deepEqual(await texts(store, byNumber("1")), [], "the new space is empty");
      assert.equal((await store.stats()).embedded, 0);
      assert.equal(await embedAll(store, swapped), 2);
      assert.deepEqual((await texts(store, byNumber("1"), 1)), ["2"]);
      await store.useSpace({ ...spaceOf("one", dimensions), providerKey: "another task" });
      assert.equal((await store.pendingVectors(10)).length, 2, "the provider's key is part of the space");
      await store.useSpace(spaceOf("one", dimensions));
      assert.deepEqual(await store.pendingVectors(10), [], "vectors of a space are kept while another is in use");
      assert.deepEqual(await texts(store, byNumber("1"), 1), ["1"]);
    },
  },
  {
    name: "vector: a space of another width can be used and left again",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      for (const width of [dimensions, 7, dimensions, 7]) {
        await store.useSpace(spaceOf("m", width));
        await embedAll(store, (text) => vectorOf(Number(text), width));
        assert.deepEqual(await texts(store, vectorOf(2, width), 1), ["2"]);
      }
      assert.equal((await store.stats()).cachedVectors, 4);
    },
  },
  {
    name: "vector: a vector for an unknown hash raises nothing and finds nothing",
    needs: ["vector"],
    async run({ store }) {
      await store.useSpace(spaceOf("m", dimensions));
      await store.putVectors([{ hash: sha256("gone"), vector: vectorOf(1, dimensions) }]);
      await store.putVectors([]);
      assert.deepEqual(await texts(store, vectorOf(1, dimensions)), []);
    },
  },
  {
    name: "vector: a vector that is put again takes the place of the old one",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(spaceOf("m", dimensions));
      await embedAll(store, byNumber);
      await store.putVectors([{ hash: sha256("1"), vector: byNumber("9") }]);
      assert.deepEqual(await texts(store, byNumber("9"), 1), ["1"]);
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
