import assert from "node:assert/strict";
import type { Chunk } from "@memslot/indexing";
import { type StoreCheck, bothSources, chunkCountOf, chunkOf, exactly, fileOf, rowsWith, textsWith } from "./lab.ts";
import { byNumber, embed, one, textsNear } from "./vectors/vector-lab.ts";

/** A long line is cut into pieces, and each is a chunk of this one line. */
const piecesOf = (texts: readonly string[], line: number): Chunk[] => texts.map((text) => chunkOf(text, line));

/** What a store does with several chunks that begin in one line. */
export const pieceChecks: readonly StoreCheck[] = [
  {
    name: "pieces: several chunks that begin in one line are all kept, and a row tells by its hash which it is",
    async run({ store }) {
      const texts = ["word a", "word b", "word c"];
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: [...piecesOf(texts, 5), chunkOf("word d", 6)] }]);
      assert.deepEqual(await textsWith(store, "word"), [...texts, "word d"]);
      for (const text of texts) {
        const [row, ...more] = await rowsWith(store, text.slice(-1));
        assert.deepEqual([row?.startLine, row?.hash, more], [5, chunkOf(text).hash, []]);
      }
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: piecesOf(["word e"], 5) }]);
      assert.deepEqual(await textsWith(store, "word"), ["word e"]);
    },
  },
  {
    name: "pieces: two of one line and one text are two chunks",
    async run({ store }) {
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: piecesOf(["same", "same", "other"], 3) }]);
      assert.deepEqual(await textsWith(store, "same"), ["same", "same"]);
      const answer = await store.searchKeyword({ terms: exactly("same"), sources: bothSources, limit: 9 });
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [3, [2]]);
      assert.equal(await chunkCountOf(store), 3);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.equal(await chunkCountOf(store), 0);
    },
  },
  {
    name: "pieces: with fromLine all pieces of a line are kept or replaced together",
    async run({ store }) {
      const tail = (line: number, texts: readonly string[], fromLine: number) => ({
        ...fileOf("a.md", []),
        chunks: piecesOf(texts, line),
        fromLine,
      });
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: piecesOf(["word a", "word b"], 3) }]);
      await store.replaceFiles([tail(4, ["word c", "word c"], 4)]);
      assert.deepEqual(await textsWith(store, "word"), ["word a", "word b", "word c", "word c"]);
      await store.replaceFiles([tail(3, ["word b", "word d"], 3)]);
      assert.deepEqual(await textsWith(store, "word"), ["word b", "word d"]);
    },
  },
  {
    name: "pieces: each is found by its own vector",
    async run({ store }) {
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: piecesOf(["1", "2", "2", "3"], 7) }]);
      await embed(store, one, ["1", "2", "3"]);
      for (const text of ["1", "3"]) assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
      assert.deepEqual(await textsNear(store, one, byNumber("2"), 2), ["2", "2"]);
      assert.deepEqual((await textsNear(store, one, byNumber("2"))).toSorted(), ["1", "2", "2", "3"]);
    },
  },
];
