import assert from "node:assert/strict";
import { type StoreCheck, fileOf, sha256, spaceOf, vectorOf } from "./lab.ts";
import { byNumber, dimensions, embedAll, textsNear } from "./vector-lab.ts";

/** Which vectors a store keeps, and which it compares. */
export const spaceChecks: readonly StoreCheck[] = [
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
      await store.useSpace(spaceOf("m", dimensions));
      const pending = await store.pendingVectors(10);
      assert.deepEqual(pending.map(({ text }) => text).toSorted(), ["1", "2"]);
      assert.deepEqual(pending.map(({ hash }) => hash).toSorted(), [sha256("1"), sha256("2")].toSorted());
      assert.equal((await store.pendingVectors(1)).length, 1);
      await store.putVectors([{ hash: sha256("1"), vector: vectorOf(1, dimensions) }]);
      assert.deepEqual(
        (await store.pendingVectors(10)).map(({ text }) => text),
        ["2"],
      );
      assert.equal((await store.stats()).embedded, 1);
      await store.putVectors([{ hash: sha256("2"), vector: vectorOf(2, dimensions) }]);
      assert.deepEqual(await store.pendingVectors(10), []);
      assert.equal((await store.stats()).embedded, 4, "chunks that have a vector, not vectors");
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
      assert.deepEqual(
        (await store.pendingVectors(10)).map(({ text }) => text),
        ["3"],
      );
      assert.deepEqual(await textsNear(store, byNumber("2")), ["2"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      await store.replaceFiles([fileOf("renamed.md", ["2", "3"])]);
      assert.deepEqual(
        (await store.pendingVectors(10)).map(({ text }) => text),
        ["3"],
        "nor does a renamed file",
      );
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
      assert.deepEqual(await textsNear(store, byNumber("1")), [], "the new space is empty");
      assert.equal((await store.stats()).embedded, 0);
      assert.equal(await embedAll(store, swapped), 2);
      assert.deepEqual(await textsNear(store, byNumber("1"), 1), ["2"]);
      await store.useSpace({ ...spaceOf("one", dimensions), providerKey: "another task" });
      assert.equal((await store.pendingVectors(10)).length, 2, "the provider's key is part of the space");
      await store.useSpace(spaceOf("one", dimensions));
      assert.deepEqual(await store.pendingVectors(10), [], "vectors of a space are kept while another is in use");
      assert.deepEqual(await textsNear(store, byNumber("1"), 1), ["1"]);
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
        assert.deepEqual(await textsNear(store, vectorOf(2, width), 1), ["2"]);
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
      assert.deepEqual(await textsNear(store, vectorOf(1, dimensions)), []);
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
      const { rows } = await store.searchVector({ vector: byNumber("9"), sources: ["memory"], limit: 1 });
      assert.deepEqual([rows[0]?.text, (rows[0]?.score ?? 0) > 0.999], ["1", true]);
    },
  },
];
