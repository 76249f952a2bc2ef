import assert from "node:assert/strict";
import { assertPlainData } from "../plain-data.ts";
import { type IndexCheck, byNumber, embedAll, factsIn, fileOf, one, sha256, textsNear, textsWith } from "../lab.ts";

/** What an index remembers of files, and what it says of itself. */
export const factChecks: readonly IndexCheck[] = [
  {
    name: "files: the facts of a file come back as they were given",
    async run({ index }) {
      const { chunks: _chunks, ...facts } = fileOf('memory/Ünïcode 笔记\'s "notes".md', ["one"]);
      await index.replaceFiles([{ ...facts, chunks: [] }]);
      assert.deepEqual(await factsIn(index), [facts]);
    },
  },
  {
    name: "files: touching changes the facts and keeps the chunks",
    async run({ index }) {
      const { chunks, ...facts } = fileOf("a.md", ["word one"]);
      await index.replaceFiles([{ ...facts, chunks }]);
      await index.touchFiles([{ ...facts, mtimeMs: facts.mtimeMs + 5000.25 }]);
      assert.deepEqual(await factsIn(index), [{ ...facts, mtimeMs: facts.mtimeMs + 5000.25 }]);
      assert.deepEqual(await textsWith(index, "word"), ["word one"]);
    },
  },
  {
    name: "files: touching a file that is not there adds none",
    async run({ index }) {
      const { chunks: _chunks, ...facts } = fileOf("ghost.md", []);
      await index.touchFiles([facts]);
      assert.deepEqual(await factsIn(index), []);
    },
  },
  {
    name: "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
    async run({ index }) {
      const { chunks: _chunks, ...facts } = fileOf("sessions/a.jsonl", [], { source: "sessions" });
      const cursor = '{"bytes":4294967296,"line":7,"of":"会话 🙂\\n\'\\u0000"}';
      await index.replaceFiles([{ ...facts, cursor, chunks: [] }]);
      assert.deepEqual(await factsIn(index), [{ ...facts, cursor }]);
      await index.touchFiles([{ ...facts, cursor, mtimeMs: facts.mtimeMs + 1 }]);
      assert.deepEqual(await factsIn(index), [{ ...facts, cursor, mtimeMs: facts.mtimeMs + 1 }]);
      await index.replaceFiles([{ ...facts, cursor: "2", fromLine: 5, chunks: [] }]);
      assert.deepEqual(await factsIn(index), [{ ...facts, cursor: "2" }]);
      await index.replaceFiles([{ ...facts, chunks: [] }]);
      assert.deepEqual(await factsIn(index), [facts]);
    },
  },
  {
    name: "revision: a touched file gives another one",
    needs: ["revision"],
    async run({ index }) {
      const { chunks, ...facts } = fileOf("a.md", ["word"]);
      await index.replaceFiles([{ ...facts, chunks }]);
      const before = await index.revision?.();
      await index.touchFiles([{ ...facts, mtimeMs: 1 }]);
      assert.notEqual(await index.revision?.(), before);
    },
  },
  {
    name: "revision: searches, listings and vectors leave it as it is",
    needs: ["revision"],
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const before = await index.revision?.();
      await textsWith(index, "1");
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await textsNear(index, one, byNumber("1"));
      await index.quarantine(one, [{ hash: sha256("2"), reason: "no" }]);
      await index.listFiles();
      await index.stats();
      await index.spaces();
      assert.equal(await index.revision?.(), before);
    },
  },
  {
    name: "lifecycle: a file that is replaced by several calls at once holds one of the versions whole",
    async run({ index }) {
      const versions = Array.from({ length: 12 }, (_, version) =>
        fileOf(
          "a.md",
          [1, 2, 3].map((part) => `part version${version} piece${part}`),
        ),
      );
      await Promise.all(versions.map((version) => index.replaceFiles([version])));
      const found = await textsWith(index, "part");
      assert.equal(found.length, 3);
      assert.equal(new Set(found.map((text) => text.split(" ")[1])).size, 1, found.join(", "));
      const [file] = await index.listFiles();
      const written = versions.find((version) => version.hash === file?.hash);
      assert.deepEqual(
        found.toSorted(),
        written?.chunks.map((chunk) => chunk.text),
        "the facts belong to the chunks",
      );
    },
  },
  {
    name: "lifecycle: stats count files, chunks and their bytes, in all and by source",
    async run({ index }) {
      await index.replaceFiles([
        { ...fileOf("a.md", ["one", "two"]), size: 1000 },
        { ...fileOf("b.md", ["笔记🙂"]), size: 30 },
        { ...fileOf("a.md", ["four"], { source: "sessions" }), size: 7_000_000_000 },
      ]);
      const stats = await index.stats();
      assert.deepEqual([stats.files, stats.chunks], [3, 4]);
      assert.deepEqual(
        stats.sources.toSorted((left, right) => left.source.localeCompare(right.source)),
        [
          { source: "memory", files: 2, chunks: 3, bytes: 1030, chunkBytes: 16 },
          { source: "sessions", files: 1, chunks: 1, bytes: 7_000_000_000, chunkBytes: 4 },
        ],
      );
      assert.deepEqual([stats.cachedVectors, stats.cachedVectorBytes], [0, 0]);
      for (const value of [stats.databaseBytes, stats.walBytes, stats.reusableBytes])
        assert.ok(Number.isFinite(value) && value >= 0);
    },
  },
  {
    name: "lifecycle: health is plain data that says where the store is",
    async run({ index }) {
      const health = index.health();
      assertPlainData(health, "health");
      assert.notEqual(health.location, "");
      assert.ok(Array.isArray(health.notices));
    },
  },
  {
    name: "vector: the probe says that the leg works",
    async run({ index }) {
      assert.equal(await index.probeVector(), true);
    },
  },
];
