import assert from "node:assert/strict";
import { type StoreCheck, fileOf, sha256, spaceOf, vectorOf } from "../lab.ts";
import { byNumber, countsIn, dimensions, embedAll, one, pendingTexts, textsNear, two } from "./vector-lab.ts";

const texts: readonly string[] = ["1", "2", "3", "4", "5"];
/** The vector that the next text has in the other space. */
const shifted = (text: string): Float32Array => byNumber(String((Number(text) % texts.length) + 1));

/** Which spaces a store knows, and which vectors it compares. */
export const spaceChecks: readonly StoreCheck[] = [
  {
    name: "vector: two spaces of one width never mix, whichever of them is in use",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts)]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      assert.deepEqual(await textsNear(store, two, byNumber("1")), [], "the other space is empty");
      assert.deepEqual(await textsNear(store, { ...one, providerKey: "another task" }, byNumber("1")), []);
      assert.equal(await embedAll(store, two, shifted), texts.length);
      for (const inUse of [one, two, one]) {
        await store.useSpace(inUse);
        assert.deepEqual(await textsNear(store, one, byNumber("2"), 1), ["2"], `in ${inUse.model}`);
        assert.deepEqual(await textsNear(store, two, byNumber("2"), 1), ["1"], `in ${inUse.model}`);
      }
      await store.putVectors(two, [{ hash: sha256("4"), vector: byNumber("9") }]);
      assert.deepEqual(
        await textsNear(store, one, byNumber("4"), 1),
        ["4"],
        "a vector put into one is not in the other",
      );
      assert.deepEqual(await textsNear(store, two, byNumber("9"), 1), ["4"]);
    },
  },
  {
    name: "vector: a space answers whole while another one is being filled",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts)]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      for (const [index, text] of texts.entries()) {
        await store.putVectors(two, [{ hash: sha256(text), vector: shifted(text) }]);
        assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
        assert.equal((await textsNear(store, one, byNumber(text))).length, texts.length);
        assert.equal((await textsNear(store, two, byNumber(text))).length, index + 1);
      }
    },
  },
  {
    name: "vector: a space that is used again has all its vectors, also those of chunks that came meanwhile",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts), fileOf("b.md", ["6"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.useSpace(two);
      await embedAll(store, two, shifted);
      await store.removeFiles([{ path: "b.md", source: "memory" }]);
      await store.replaceFiles([fileOf("c.md", ["6", "7"])]);
      await embedAll(store, two, byNumber);
      await store.useSpace(one);
      assert.deepEqual(await pendingTexts(store, one), ["7"]);
      assert.deepEqual((await textsNear(store, one, byNumber("6"))).toSorted(), [...texts, "6"]);
      assert.deepEqual(await textsNear(store, one, byNumber("6"), 1), ["6"]);
      assert.equal((await textsNear(store, two, byNumber("6"))).length, texts.length + 2);
    },
  },
  {
    name: "vector: a space of another width under the same name is another space",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      for (const width of [dimensions, 7, dimensions, 7]) {
        const space = spaceOf("m", width);
        await store.useSpace(space);
        await embedAll(store, space, (text) => vectorOf(Number(text), width));
        assert.deepEqual(await textsNear(store, space, vectorOf(2, width), 1), ["2"]);
      }
      assert.equal((await store.stats()).cachedVectors, 4);
    },
  },
  {
    name: "vector: every call works in a space that nobody has used",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      assert.deepEqual(await textsNear(store, one, byNumber("1")), []);
      assert.deepEqual(await store.knownVectors(one, [sha256("1")]), []);
      assert.deepEqual(await store.quarantined(one, 5), []);
      await store.releaseQuarantine(one);
      assert.deepEqual(await countsIn(store, one), { embedded: 0, pending: 2, quarantined: 0 });
      assert.deepEqual(await store.spaces(), []);
      assert.equal(await embedAll(store, one, byNumber), 2);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 1), ["1"]);
    },
  },
  {
    name: "vector: of many hashes those are known that have a vector in the space",
    needs: ["vector"],
    async run({ store }) {
      const hashes = Array.from({ length: 700 }, (_, index) => sha256(String(index)));
      const known = hashes.filter((_, index) => index % 3 === 0);
      await store.putVectors(
        one,
        known.map((hash) => ({ hash, vector: byNumber("1") })),
      );
      await store.putVectors(two, [{ hash: hashes[1] ?? "", vector: byNumber("1") }]);
      assert.deepEqual((await store.knownVectors(one, hashes)).toSorted(), known.toSorted());
      assert.deepEqual(await store.knownVectors(two, hashes), [hashes[1]]);
      assert.deepEqual(await store.knownVectors(one, []), []);
    },
  },
  {
    name: "vector: the spaces are listed with their vectors, the one that was written to last first",
    needs: ["vector"],
    async run({ store }) {
      const three = { ...one, providerKey: "task: 任务", dimensions: 5 };
      await store.putVectors(one, [
        { hash: sha256("1"), vector: byNumber("1") },
        { hash: sha256("2"), vector: byNumber("2") },
      ]);
      await store.putVectors(two, [{ hash: sha256("1"), vector: byNumber("1") }]);
      await store.putVectors(three, [{ hash: sha256("1"), vector: vectorOf(1, 5) }]);
      await store.useSpace({ ...one, model: "only looked at" });
      assert.deepEqual(await store.spaces(), [
        { space: three, vectors: 1 },
        { space: two, vectors: 1 },
        { space: one, vectors: 2 },
      ]);
      await store.putVectors(one, [{ hash: sha256("2"), vector: byNumber("3") }]);
      await store.useSpace(two);
      await textsNear(store, two, byNumber("1"));
      assert.deepEqual(await store.spaces(), [
        { space: one, vectors: 2 },
        { space: three, vectors: 1 },
        { space: two, vectors: 1 },
      ]);
    },
  },
];
