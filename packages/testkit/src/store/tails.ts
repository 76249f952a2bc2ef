import assert from "node:assert/strict";
import type { ChunkIndex } from "@memslot/indexing";
import { type StoreCheck, bothSources, chunkOf, exactly, factsIn, fileOf, sha256, textsWith } from "./lab.ts";
import { byNumber, embedAll, one, pendingTexts, textsNear } from "./vectors/vector-lab.ts";

const transcript = "sessions/a.jsonl";
const options = { source: "sessions" };

/** Where the chunks with a word begin, in the order of lines. */
async function linesWith(store: ChunkIndex, word: string): Promise<number[]> {
  const { rows } = await store.searchKeyword({ terms: exactly(word), sources: bothSources, limit: 100 });
  return rows.map((row) => row.startLine).toSorted((left, right) => left - right);
}

/** What a store does with a file that only grows. */
export const tailChecks: readonly StoreCheck[] = [
  {
    name: "files: with fromLine the chunks that begin before it are kept, the later ones are replaced",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf(transcript, ["word a", "word b old", "word c old"], options)]);
      const chunks = [chunkOf("word b new", 11), chunkOf("word d new", 15)];
      await store.replaceFiles([{ ...fileOf(transcript, [], options), chunks, fromLine: 11 }]);
      assert.deepEqual(await linesWith(store, "word"), [1, 11, 15]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word a", "word b new", "word d new"]);
      assert.deepEqual(await textsWith(store, "old"), []);
      const answer = await store.searchKeyword({ terms: exactly("word", "old"), sources: bothSources, limit: 9 });
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [3, [3, 0]]);
      const stats = await store.stats();
      assert.deepEqual([stats.files, stats.chunks], [1, 3]);
    },
  },
  {
    name: "files: a chunk that begins before fromLine and ends after it is kept",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("word one\nword two\nword three", 4)] },
      ]);
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("word last", 7)], fromLine: 5 },
      ]);
      assert.deepEqual(await linesWith(store, "word"), [4, 7]);
    },
  },
  {
    name: "files: with fromLine a file that is not there is added, and a first line of 1 replaces all of it",
    needs: ["keyword"],
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
    needs: ["keyword"],
    async run({ store }) {
      const texts = ["word a", "word b"];
      await store.replaceFiles([fileOf("a.md", texts), fileOf("a.md", texts, options), fileOf("b.md", texts, options)]);
      await store.replaceFiles([{ ...fileOf("a.md", [], options), chunks: [chunkOf("word c", 11)], fromLine: 11 }]);
      assert.deepEqual(
        (await textsWith(store, "word")).toSorted(),
        [...texts, ...texts, "word a", "word c"].toSorted(),
      );
    },
  },
  {
    name: "files: several tails of one file in one call are put on one after the other",
    needs: ["keyword"],
    async run({ store }) {
      const tail = (text: string, fromLine: number) => ({
        ...fileOf(transcript, [], { ...options, hash: sha256(text) }),
        chunks: [chunkOf(`word ${text}`, fromLine)],
        fromLine,
      });
      await store.replaceFiles([tail("a", 1), tail("b", 2), tail("c", 3), tail("d", 2)]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word a", "word d"]);
      assert.equal((await store.listFiles())[0]?.hash, sha256("d"));
    },
  },
  {
    name: "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
    async run({ store }) {
      const { chunks: _chunks, ...facts } = fileOf(transcript, [], options);
      const cursor = '{"bytes":4294967296,"line":7,"of":"会话 🙂\\n\'\\u0000"}';
      await store.replaceFiles([{ ...facts, cursor, chunks: [] }]);
      assert.deepEqual(await factsIn(store), [{ ...facts, cursor }]);
      await store.touchFiles([{ ...facts, cursor, mtimeMs: facts.mtimeMs + 1 }]);
      assert.deepEqual(await factsIn(store), [{ ...facts, cursor, mtimeMs: facts.mtimeMs + 1 }]);
      await store.replaceFiles([{ ...facts, cursor: "2", fromLine: 5, chunks: [] }]);
      assert.deepEqual(await factsIn(store), [{ ...facts, cursor: "2" }]);
      await store.replaceFiles([{ ...facts, chunks: [] }]);
      assert.deepEqual(await factsIn(store), [facts]);
    },
  },
  {
    name: "vector: with fromLine the chunks that are kept keep their vectors",
    needs: ["vector"],
    async run({ store }) {
      await store.replaceFiles([fileOf(transcript, ["1", "2", "3"], options)]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      await store.replaceFiles([
        { ...fileOf(transcript, [], options), chunks: [chunkOf("3", 21), chunkOf("4", 31)], fromLine: 12 },
      ]);
      assert.deepEqual(await pendingTexts(store, one), ["4"]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 1), ["1"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "2", "3"]);
      await store.replaceFiles([{ ...fileOf(transcript, [], options), fromLine: 12 }]);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2"]);
    },
  },
];
