import assert from "node:assert/strict";
import {
  type StoreCheck,
  bothSources,
  chunkCountOf,
  chunkOf,
  exactly,
  fileOf,
  listIn,
  placesWith,
  textsWith,
} from "./lab.ts";
import { byNumber, embed, one, textsNear } from "./vectors/vector-lab.ts";

const transcript = "sessions/a.jsonl";
const options = { source: "sessions" };

/** What a store does with a file that only grows. */
export const tailChecks: readonly StoreCheck[] = [
  {
    name: "files: with fromLine the chunks that begin before it are kept, the later ones are replaced",
    async run({ store }) {
      await store.replaceFiles([fileOf(transcript, ["word a", "word b old", "word c old"], options)]);
      const chunks = [chunkOf("word b new", 11), chunkOf("word d new", 15)];
      await store.replaceFiles([{ ...fileOf(transcript, ["grown"], options), chunks, fromLine: 11 }]);
      assert.deepEqual(await placesWith(store, "word"), [1, 11, 15].map((line) => `${transcript}:${line}`).toSorted());
      assert.deepEqual(await textsWith(store, "word"), ["word a", "word b new", "word d new"]);
      assert.deepEqual(await textsWith(store, "old"), []);
      const answer = await store.searchKeyword({ terms: exactly("word", "old"), sources: bothSources, limit: 9 });
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [3, [3, 0]]);
      assert.deepEqual(
        (await listIn(store)).map(({ hash }) => hash),
        [fileOf(transcript, ["grown"]).hash],
        "the hash is that of the whole file",
      );
    },
  },
  {
    name: "files: a chunk that begins before fromLine and ends after it is kept",
    async run({ store }) {
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("word one\nword two\nword 3", 4)] },
      ]);
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("word last", 7)], fromLine: 5 },
      ]);
      assert.deepEqual(await placesWith(store, "word"), [`${transcript}:4`, `${transcript}:7`]);
    },
  },
  {
    name: "files: with fromLine a file that is not there is added, and a first line of 1 replaces all of it",
    async run({ store }) {
      await store.replaceFiles([{ ...fileOf(transcript, ["word first"], options), fromLine: 1000 }]);
      assert.deepEqual(await textsWith(store, "word"), ["word first"]);
      await store.replaceFiles([{ ...fileOf(transcript, ["word second"], options), fromLine: 1 }]);
      assert.deepEqual(await textsWith(store, "word"), ["word second"]);
      await store.replaceFiles([{ ...fileOf(transcript, [], options), fromLine: 2 }]);
      assert.deepEqual(await textsWith(store, "word"), ["word second"], "a tail may be empty");
    },
  },
  {
    name: "files: fromLine touches no other file, nor the same path of another source",
    async run({ store }) {
      const texts = ["word a", "word b"];
      await store.replaceFiles([fileOf("a.md", texts), fileOf("a.md", texts, options), fileOf("b.md", texts, options)]);
      await store.replaceFiles([{ ...fileOf("a.md", [], options), chunks: [chunkOf("word c", 11)], fromLine: 11 }]);
      assert.deepEqual(await textsWith(store, "word"), [...texts, ...texts, "word a", "word c"].toSorted());
      assert.equal(await chunkCountOf(store), 6);
    },
  },
  {
    name: "files: several tails of one file in one call are put on one after the other",
    async run({ store }) {
      const tail = (text: string, fromLine: number) => ({
        ...fileOf(transcript, [text], options),
        chunks: [chunkOf(`word ${text}`, fromLine)],
        fromLine,
      });
      await store.replaceFiles([tail("a", 1), tail("b", 2), tail("c", 3), tail("d", 2)]);
      assert.deepEqual(await textsWith(store, "word"), ["word a", "word d"]);
      assert.deepEqual(
        (await listIn(store)).map(({ hash }) => hash),
        [fileOf(transcript, ["d"]).hash],
      );
    },
  },
  {
    name: "vector: with fromLine the chunks that are kept keep their vectors",
    async run({ store }) {
      await store.replaceFiles([fileOf(transcript, ["1", "2", "3"], options)]);
      await embed(store, one, ["1", "2", "3"]);
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("3", 21), chunkOf("4", 31)], fromLine: 12 },
      ]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 1), ["1"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "2", "3"]);
      await store.replaceFiles([{ ...fileOf(transcript, [], options), fromLine: 12 }]);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2"]);
    },
  },
];
