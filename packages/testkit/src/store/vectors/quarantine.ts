import assert from "node:assert/strict";
import type { ChunkIndex } from "@memslot/indexing";
import { type StoreCheck, fileOf, sha256, textsWith } from "../lab.ts";
import { byNumber, countsIn, embedAll, one, pendingTexts, textsNear, two } from "./vector-lab.ts";

/** `first` and `second` in one file, `second` and `third` in another; the second text is refused in space one. */
async function refuseOne(store: ChunkIndex): Promise<void> {
  await store.replaceFiles([
    fileOf("b.md", ["word first", "word second"]),
    fileOf("a.md", ["word second", "word third"]),
  ]);
  await store.quarantine(one, [{ hash: sha256("word second"), reason: "it is too long" }]);
}

async function refusedIn(store: ChunkIndex): Promise<string[]> {
  return (await store.quarantined(one, 100)).map(({ path, startLine }) => `${path}:${startLine}`);
}

/** What a store does with texts that a provider refuses. */
export const quarantineChecks: readonly StoreCheck[] = [
  {
    name: "vector: a quarantined text is not pending, is found by its words, and is listed with every place it stands at",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      assert.deepEqual(await pendingTexts(store, one), ["word first", "word third"]);
      if (store.health().fts.enabled)
        assert.deepEqual(await textsWith(store, "second"), ["word second", "word second"]);
      const chunk = { hash: sha256("word second"), source: "memory", reason: "it is too long" };
      assert.deepEqual(await store.quarantined(one, 10), [
        { ...chunk, path: "a.md", startLine: 1, endLine: 1 },
        { ...chunk, path: "b.md", startLine: 11, endLine: 11 },
      ]);
      assert.equal((await store.quarantined(one, 1)).length, 1);
      await store.quarantine(one, [{ hash: sha256("word second"), reason: "another reason" }]);
      assert.deepEqual(
        (await store.quarantined(one, 10)).map(({ reason }) => reason),
        ["another reason", "another reason"],
      );
    },
  },
  {
    name: "vector: quarantined chunks come in the order of their paths and lines",
    needs: ["vector"],
    async run({ store }) {
      const texts = Array.from({ length: 12 }, (_, index) => String(index));
      await store.replaceFiles([fileOf("b.md", texts), fileOf("a.md", texts.slice(3)), fileOf("c.md", texts.slice(9))]);
      await store.quarantine(
        one,
        texts.toReversed().map((text) => ({ hash: sha256(text), reason: "no" })),
      );
      const places = (await store.quarantined(one, 100)).map(({ path, startLine }) => ({ path, startLine }));
      assert.equal(places.length, 24);
      assert.deepEqual(
        places,
        places.toSorted((left, right) => left.path.localeCompare(right.path) || left.startLine - right.startLine),
      );
    },
  },
  {
    name: "vector: quarantine is of one space alone",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      assert.deepEqual(await store.quarantined(two, 10), []);
      assert.equal(await embedAll(store, two, () => byNumber("1")), 3);
      assert.deepEqual(await refusedIn(store), ["a.md:1", "b.md:11"], "a vector of another space releases nothing");
      await store.releaseQuarantine(two);
      assert.deepEqual(await refusedIn(store), ["a.md:1", "b.md:11"]);
    },
  },
  {
    name: "vector: a vector releases its text from quarantine",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      await store.putVectors(one, [{ hash: sha256("word second"), vector: byNumber("2") }]);
      assert.deepEqual(await refusedIn(store), []);
      assert.deepEqual(await textsNear(store, one, byNumber("2")), ["word second", "word second"]);
      assert.deepEqual(await countsIn(store, one), { embedded: 2, pending: 2, quarantined: 0 });
    },
  },
  {
    name: "vector: released texts are pending again",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      await store.quarantine(one, [{ hash: sha256("word first"), reason: "it too" }]);
      await store.releaseQuarantine(one);
      assert.deepEqual(await refusedIn(store), []);
      assert.deepEqual(await pendingTexts(store, one), ["word first", "word second", "word third"]);
    },
  },
  {
    name: "vector: quarantine is forgotten for texts that are gone or changed, and kept for those that stay",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      await store.quarantine(one, [{ hash: sha256("word first"), reason: "it too" }]);
      await store.replaceFiles([fileOf("b.md", ["word changed", "word first"])]);
      assert.deepEqual(await refusedIn(store), ["a.md:1", "b.md:11"], "an unchanged text of a replaced file stays");
      await store.replaceFiles([fileOf("b.md", ["word second"])]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.deepEqual(await refusedIn(store), ["b.md:1"], "so does one that stands in another file still");
      await store.removeFiles([{ path: "b.md", source: "memory" }]);
      await store.replaceFiles([fileOf("c.md", ["word first", "word second"])]);
      assert.deepEqual(await refusedIn(store), []);
      assert.deepEqual(await pendingTexts(store, one), ["word first", "word second"], "both are tried again");
    },
  },
  {
    name: "vector: embedded, pending and quarantined chunks are all the chunks there are",
    needs: ["vector"],
    async run({ store }) {
      await refuseOne(store);
      await store.putVectors(one, [{ hash: sha256("word first"), vector: byNumber("1") }]);
      assert.deepEqual(await countsIn(store, one), { embedded: 1, pending: 1, quarantined: 2 });
      assert.deepEqual(await countsIn(store, two), { embedded: 0, pending: 4, quarantined: 0 });
      await store.quarantine(one, [
        { hash: sha256("word first"), reason: "it has a vector" },
        { hash: sha256("word of nobody"), reason: "it is not there" },
      ]);
      assert.deepEqual(await countsIn(store, one), { embedded: 1, pending: 1, quarantined: 2 });
      assert.deepEqual(await refusedIn(store), ["a.md:1", "b.md:11"]);
      await embedAll(store, one, () => byNumber("3"));
      assert.deepEqual(await countsIn(store, one), { embedded: 2, pending: 0, quarantined: 2 });
    },
  },
];
