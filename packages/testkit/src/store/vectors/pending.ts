import assert from "node:assert/strict";
import { type StoreCheck, fileOf, sha256, vectorOf } from "../lab.ts";
import { byNumber, countsIn, dimensions, embedAll, one, pendingTexts, textsNear, two } from "./vector-lab.ts";

/** Which chunks still want a vector, and what becomes of vectors when chunks come and go. */
export const pendingChecks: readonly StoreCheck[] = [
  {
    name: "vector: chunks without a vector are pending, each hash once, until they have one",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["1", "2", "2"]),
        {
          ...fileOf("b.md", []),
          chunks: fileOf("b.md", ["2"]).chunks.map((chunk) => ({ ...chunk, startLine: 90, endLine: 90 })),
        },
      ]);
      const pending = await store.pendingVectors(one, 10);
      assert.deepEqual(pending.map(({ text }) => text).toSorted(), ["1", "2"]);
      assert.deepEqual(pending.map(({ hash }) => hash).toSorted(), [sha256("1"), sha256("2")].toSorted());
      assert.equal((await store.pendingVectors(one, 1)).length, 1);
      await store.putVectors(one, [{ hash: sha256("1"), vector: vectorOf(1, dimensions) }]);
      assert.deepEqual(await pendingTexts(store, one), ["2"]);
      assert.deepEqual(await countsIn(store, one), { embedded: 1, pending: 3, quarantined: 0 });
      await store.putVectors(one, [{ hash: sha256("2"), vector: vectorOf(2, dimensions) }]);
      assert.deepEqual(await pendingTexts(store, one), []);
      const counts = await countsIn(store, one);
      assert.deepEqual(counts, { embedded: 4, pending: 0, quarantined: 0 }, "chunks that have a vector, not vectors");
    },
  },
  {
    name: "vector: what is pending is pending in each space by itself",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(one);
      await store.putVectors(one, [{ hash: sha256("1"), vector: byNumber("1") }]);
      assert.deepEqual([await pendingTexts(store, one), await pendingTexts(store, two)], [["2"], ["1", "2"]]);
      await store.putVectors(two, [{ hash: sha256("2"), vector: byNumber("2") }]);
      assert.deepEqual([await pendingTexts(store, one), await pendingTexts(store, two)], [["2"], ["1"]]);
      assert.deepEqual(await pendingTexts(store, { ...one, providerKey: "another task" }), ["1", "2"]);
      assert.deepEqual(await pendingTexts(store, { ...one, dimensions: dimensions + 1 }), ["1", "2"]);
    },
  },
  {
    name: "vector: an unchanged chunk of a replaced file needs no new vector",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.replaceFiles([fileOf("a.md", ["2", "3"])]);
      assert.deepEqual(await pendingTexts(store, one), ["3"]);
      assert.deepEqual(await textsNear(store, one, byNumber("2")), ["2"]);
    },
  },
  {
    name: "vector: a file that is renamed or moved to another source needs no new vector",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.replaceFiles([fileOf("renamed.md", ["1", "2"])]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "b.md", source: "memory" },
      ]);
      await store.replaceFiles([fileOf("b.jsonl", ["3"], { source: "sessions" })]);
      assert.deepEqual(await pendingTexts(store, one), []);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2", "3"]);
    },
  },
  {
    name: "vector: a vector for an unknown hash raises nothing and finds nothing",
    needs: ["vector"],
    async run({ store }) {
      await store.useSpace(one);
      await store.putVectors(one, [{ hash: sha256("gone"), vector: vectorOf(1, dimensions) }]);
      await store.putVectors(one, []);
      assert.deepEqual(await textsNear(store, one, vectorOf(1, dimensions)), []);
    },
  },
  {
    name: "vector: a vector that is put again takes the place of the old one",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.putVectors(one, [{ hash: sha256("1"), vector: byNumber("9") }]);
      const { rows } = await store.searchVector({ space: one, vector: byNumber("9"), sources: ["memory"], limit: 1 });
      assert.deepEqual([rows[0]?.text, (rows[0]?.score ?? 0) > 0.999], ["1", true]);
    },
  },
];
