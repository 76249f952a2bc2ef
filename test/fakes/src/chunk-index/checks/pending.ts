import assert from "node:assert/strict";
import {
  type IndexCheck,
  byNumber,
  chunkOf,
  countsIn,
  dimensions,
  embedAll,
  fileOf,
  one,
  pendingTexts,
  sha256,
  textsNear,
  two,
  vectorOf,
} from "../lab.ts";

const transcript = "sessions/a.jsonl";
const options = { source: "sessions" };

/** Which chunks still want a vector. */
export const pendingChecks: readonly IndexCheck[] = [
  {
    name: "vector: a pending chunk comes with its text and context",
    async run({ index }) {
      const chunks = fileOf("a.md", ["text of it"]).chunks.map((chunk) => ({ ...chunk, context: "Heading" }));
      await index.replaceFiles([{ ...fileOf("a.md", []), chunks }]);
      await index.useSpace(one);
      assert.deepEqual(await index.pendingVectors(one, 5), [
        { hash: sha256("text of it"), context: "Heading", text: "text of it" },
      ]);
    },
  },
  {
    name: "vector: chunks without a vector are pending, each hash once, until they have one",
    async run({ index }) {
      await index.replaceFiles([
        fileOf("a.md", ["1", "2", "2"]),
        {
          ...fileOf("b.md", []),
          chunks: fileOf("b.md", ["2"]).chunks.map((chunk) => ({ ...chunk, startLine: 90, endLine: 90 })),
        },
      ]);
      const pending = await index.pendingVectors(one, 10);
      assert.deepEqual(pending.map(({ text }) => text).toSorted(), ["1", "2"]);
      assert.deepEqual(pending.map(({ hash }) => hash).toSorted(), [sha256("1"), sha256("2")].toSorted());
      assert.equal((await index.pendingVectors(one, 1)).length, 1);
      await index.putVectors(one, [{ hash: sha256("1"), vector: vectorOf(1, dimensions) }]);
      assert.deepEqual(await pendingTexts(index, one), ["2"]);
      assert.deepEqual(await countsIn(index, one), { embedded: 1, pending: 3, quarantined: 0 });
      await index.putVectors(one, [{ hash: sha256("2"), vector: vectorOf(2, dimensions) }]);
      assert.deepEqual(await pendingTexts(index, one), []);
      const counts = await countsIn(index, one);
      assert.deepEqual(counts, { embedded: 4, pending: 0, quarantined: 0 }, "chunks that have a vector, not vectors");
    },
  },
  {
    name: "vector: what is pending is pending in each space by itself",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await index.useSpace(one);
      await index.putVectors(one, [{ hash: sha256("1"), vector: byNumber("1") }]);
      assert.deepEqual([await pendingTexts(index, one), await pendingTexts(index, two)], [["2"], ["1", "2"]]);
      await index.putVectors(two, [{ hash: sha256("2"), vector: byNumber("2") }]);
      assert.deepEqual([await pendingTexts(index, one), await pendingTexts(index, two)], [["2"], ["1"]]);
      assert.deepEqual(await pendingTexts(index, { ...one, providerKey: "another task" }), ["1", "2"]);
      assert.deepEqual(await pendingTexts(index, { ...one, dimensions: dimensions + 1 }), ["1", "2"]);
    },
  },
  {
    name: "vector: an unchanged chunk of a replaced file needs no new vector",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await index.replaceFiles([fileOf("a.md", ["2", "3"])]);
      assert.deepEqual(await pendingTexts(index, one), ["3"]);
      assert.deepEqual(await textsNear(index, one, byNumber("2")), ["2"]);
    },
  },
  {
    name: "vector: a file that is renamed or moved to another source needs no new vector",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await index.replaceFiles([fileOf("renamed.md", ["1", "2"])]);
      await index.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "b.md", source: "memory" },
      ]);
      await index.replaceFiles([fileOf("b.jsonl", ["3"], { source: "sessions" })]);
      assert.deepEqual(await pendingTexts(index, one), []);
      assert.deepEqual((await textsNear(index, one, byNumber("3"))).toSorted(), ["1", "2", "3"]);
    },
  },
  {
    name: "vector: with fromLine the chunks that are kept are not pending",
    async run({ index }) {
      await index.replaceFiles([fileOf(transcript, ["1", "2", "3"], options)]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await index.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("3", 21), chunkOf("4", 31)], fromLine: 12 },
      ]);
      assert.deepEqual(await pendingTexts(index, one), ["4"]);
      assert.deepEqual(await textsNear(index, one, byNumber("1"), 1), ["1"]);
      assert.deepEqual((await textsNear(index, one, byNumber("1"))).toSorted(), ["1", "2", "3"]);
      await index.replaceFiles([{ ...fileOf(transcript, [], options), fromLine: 12 }]);
      assert.deepEqual((await textsNear(index, one, byNumber("3"))).toSorted(), ["1", "2"]);
    },
  },
];
