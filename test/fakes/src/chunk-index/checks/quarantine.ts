import assert from "node:assert/strict";
import type { ChunkIndex } from "@memslot/indexing";
import {
  type IndexCheck,
  byNumber,
  countsIn,
  embedAll,
  fileOf,
  one,
  pendingTexts,
  sha256,
  spaceOf,
  textsNear,
  textsWith,
  two,
} from "../lab.ts";

/** `first` and `second` in one file, `second` and `third` in another; the second text is refused in space one. */
async function refuseOne(index: ChunkIndex): Promise<void> {
  await index.replaceFiles([
    fileOf("b.md", ["word first", "word second"]),
    fileOf("a.md", ["word second", "word third"]),
  ]);
  await index.quarantine(one, [{ hash: sha256("word second"), reason: "it is too long" }]);
}

async function refusedIn(index: ChunkIndex): Promise<string[]> {
  return (await index.quarantined(one, 100)).map(({ path, startLine }) => `${path}:${startLine}`);
}

/** What a store does with texts that a provider refuses. */
export const quarantineChecks: readonly IndexCheck[] = [
  {
    name: "vector: a quarantined text is not pending, is found by its words, and is listed with every place it stands at",
    async run({ index }) {
      await refuseOne(index);
      assert.deepEqual(await pendingTexts(index, one), ["word first", "word third"]);
      assert.deepEqual(await textsWith(index, "second"), ["word second", "word second"]);
      const chunk = { hash: sha256("word second"), source: "memory", reason: "it is too long" };
      assert.deepEqual(await index.quarantined(one, 10), [
        { ...chunk, path: "a.md", startLine: 1, endLine: 1 },
        { ...chunk, path: "b.md", startLine: 11, endLine: 11 },
      ]);
      assert.equal((await index.quarantined(one, 1)).length, 1);
      await index.quarantine(one, [{ hash: sha256("word second"), reason: "another reason" }]);
      assert.deepEqual(
        (await index.quarantined(one, 10)).map(({ reason }) => reason),
        ["another reason", "another reason"],
      );
    },
  },
  {
    name: "vector: quarantined chunks come in the order of their paths and lines",
    async run({ index }) {
      const texts = Array.from({ length: 12 }, (_, index) => String(index));
      await index.replaceFiles([fileOf("b.md", texts), fileOf("a.md", texts.slice(3)), fileOf("c.md", texts.slice(9))]);
      await index.quarantine(
        one,
        texts.toReversed().map((text) => ({ hash: sha256(text), reason: "no" })),
      );
      const places = (await index.quarantined(one, 100)).map(({ path, startLine }) => ({ path, startLine }));
      assert.equal(places.length, 24);
      assert.deepEqual(
        places,
        places.toSorted((left, right) => left.path.localeCompare(right.path) || left.startLine - right.startLine),
      );
    },
  },
  {
    name: "vector: quarantine is of one space alone",
    async run({ index }) {
      await refuseOne(index);
      assert.deepEqual(await index.quarantined(two, 10), []);
      assert.equal(await embedAll(index, two, () => byNumber("1")), 3);
      assert.deepEqual(await refusedIn(index), ["a.md:1", "b.md:11"], "a vector of another space releases nothing");
      await index.releaseQuarantine(two);
      assert.deepEqual(await refusedIn(index), ["a.md:1", "b.md:11"]);
    },
  },
  {
    name: "vector: a vector releases its text from quarantine",
    async run({ index }) {
      await refuseOne(index);
      await index.putVectors(one, [{ hash: sha256("word second"), vector: byNumber("2") }]);
      assert.deepEqual(await refusedIn(index), []);
      assert.deepEqual(await textsNear(index, one, byNumber("2")), ["word second", "word second"]);
      assert.deepEqual(await countsIn(index, one), { embedded: 2, pending: 2, quarantined: 0 });
    },
  },
  {
    name: "vector: released texts are pending again",
    async run({ index }) {
      await refuseOne(index);
      await index.quarantine(one, [{ hash: sha256("word first"), reason: "it too" }]);
      await index.releaseQuarantine(one);
      assert.deepEqual(await refusedIn(index), []);
      assert.deepEqual(await pendingTexts(index, one), ["word first", "word second", "word third"]);
    },
  },
  {
    name: "vector: quarantine is forgotten for texts that are gone or changed, and kept for those that stay",
    async run({ index }) {
      await refuseOne(index);
      await index.quarantine(one, [{ hash: sha256("word first"), reason: "it too" }]);
      await index.replaceFiles([fileOf("b.md", ["word changed", "word first"])]);
      assert.deepEqual(await refusedIn(index), ["a.md:1", "b.md:11"], "an unchanged text of a replaced file stays");
      await index.replaceFiles([fileOf("b.md", ["word second"])]);
      await index.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.deepEqual(await refusedIn(index), ["b.md:1"], "so does one that stands in another file still");
      await index.removeFiles([{ path: "b.md", source: "memory" }]);
      await index.replaceFiles([fileOf("c.md", ["word first", "word second"])]);
      assert.deepEqual(await refusedIn(index), []);
      assert.deepEqual(await pendingTexts(index, one), ["word first", "word second"], "both are tried again");
    },
  },
  {
    name: "vector: embedded, pending and quarantined chunks are all the chunks there are",
    async run({ index }) {
      await refuseOne(index);
      await index.putVectors(one, [{ hash: sha256("word first"), vector: byNumber("1") }]);
      assert.deepEqual(await countsIn(index, one), { embedded: 1, pending: 1, quarantined: 2 });
      assert.deepEqual(await countsIn(index, two), { embedded: 0, pending: 4, quarantined: 0 });
      await index.quarantine(one, [
        { hash: sha256("word first"), reason: "it has a vector" },
        { hash: sha256("word of nobody"), reason: "it is not there" },
      ]);
      assert.deepEqual(await countsIn(index, one), { embedded: 1, pending: 1, quarantined: 2 });
      assert.deepEqual(await refusedIn(index), ["a.md:1", "b.md:11"]);
      await embedAll(index, one, () => byNumber("3"));
      assert.deepEqual(await countsIn(index, one), { embedded: 2, pending: 0, quarantined: 2 });
    },
  },
  {
    name: "lifecycle: quarantine is there again after a reopen",
    needs: ["reopens"],
    async run({ index, reopen }) {
      const space = spaceOf("m", 8);
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await index.quarantine(space, [{ hash: sha256("1"), reason: "too long" }]);
      const again = await reopen();
      assert.deepEqual(
        (await again.quarantined(space, 5)).map(({ hash, reason }) => [hash, reason]),
        [[sha256("1"), "too long"]],
      );
      assert.deepEqual(
        (await again.pendingVectors(space, 5)).map(({ text }) => text),
        ["2"],
      );
    },
  },
];
