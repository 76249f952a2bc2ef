import assert from "node:assert/strict";
import { type StoreCheck, bothSources, exactly, factsIn, fileOf, textsWith } from "./lab.ts";

/** What a store does with whole files. */
export const fileChecks: readonly StoreCheck[] = [
  {
    name: "files: an empty store answers everything with nothing",
    async run({ store }) {
      assert.deepEqual(await factsIn(store), []);
      const answer = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 10 });
      assert.deepEqual(answer, { rows: [], chunkCount: 0, documentFrequencies: [0] });
      const stats = await store.stats();
      assert.deepEqual([stats.files, stats.chunks, stats.sources.filter((source) => source.files > 0)], [0, 0, []]);
      await store.replaceFiles([]);
      await store.touchFiles([]);
      await store.removeFiles([]);
    },
  },
  {
    name: "files: the facts of a file come back as they were given",
    async run({ store }) {
      const { chunks: _chunks, ...facts } = fileOf('memory/Ünïcode 笔记\'s "notes".md', ["one"]);
      await store.replaceFiles([{ ...facts, chunks: [] }]);
      assert.deepEqual(await factsIn(store), [facts]);
    },
  },
  {
    name: "files: a file without chunks is remembered",
    async run({ store }) {
      await store.replaceFiles([fileOf("memory/empty.md", [])]);
      assert.deepEqual(
        (await store.listFiles()).map((file) => file.path),
        ["memory/empty.md"],
      );
      const stats = await store.stats();
      assert.deepEqual([stats.files, stats.chunks], [1, 0]);
    },
  },
  {
    name: "files: a replaced file leaves nothing of its old chunks",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["alpha old", "beta old", "gamma old"]),
        fileOf("b.md", ["alpha other"]),
      ]);
      await store.replaceFiles([fileOf("a.md", ["delta new"])]);
      assert.deepEqual(await textsWith(store, "old"), []);
      assert.deepEqual(await textsWith(store, "delta"), ["delta new"]);
      assert.deepEqual(await textsWith(store, "alpha"), ["alpha other"]);
      const stats = await store.stats();
      assert.deepEqual([stats.files, stats.chunks], [2, 2]);
    },
  },
  {
    name: "files: the last of two versions in one call stands",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["first version"]), fileOf("a.md", ["second version"])]);
      assert.deepEqual(await textsWith(store, "version"), ["second version"]);
      assert.equal((await store.listFiles()).length, 1);
    },
  },
  {
    name: "files: two chunks of one text are both kept",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["the same text", "the same text"]), fileOf("b.md", ["the same text"])]);
      const { rows } = await store.searchKeyword({ terms: exactly("same"), sources: ["memory"], limit: 10 });
      const places = rows.map((row) => `${row.path}:${row.startLine}`).toSorted();
      assert.deepEqual(places, ["a.md:1", "a.md:11", "b.md:1"]);
      assert.equal(new Set(rows.map((row) => row.id)).size, 3, "each chunk has an id of its own");
    },
  },
  {
    name: "files: removing one takes its chunks along and leaves the others",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["word a"]), fileOf("b.md", ["word b"])]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "never-there.md", source: "memory" },
      ]);
      assert.deepEqual(await textsWith(store, "word"), ["word b"]);
      assert.deepEqual(
        (await store.listFiles()).map((file) => file.path),
        ["b.md"],
      );
    },
  },
  {
    name: "files: the same path in two sources is two files",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["word memory"]),
        fileOf("a.md", ["word sessions"], { source: "sessions" }),
      ]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word memory", "word sessions"]);
      await store.replaceFiles([fileOf("a.md", ["word again"], { source: "sessions" })]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word again", "word memory"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.deepEqual(
        (await store.listFiles()).map((file) => file.source),
        ["sessions"],
      );
      assert.deepEqual(await textsWith(store, "word"), ["word again"]);
    },
  },
  {
    name: "files: touching changes the facts and keeps the chunks",
    needs: ["keyword"],
    async run({ store }) {
      const { chunks, ...facts } = fileOf("a.md", ["word one"]);
      await store.replaceFiles([{ ...facts, chunks }]);
      await store.touchFiles([{ ...facts, mtimeMs: facts.mtimeMs + 5000.25 }]);
      assert.deepEqual(await factsIn(store), [{ ...facts, mtimeMs: facts.mtimeMs + 5000.25 }]);
      assert.deepEqual(await textsWith(store, "word"), ["word one"]);
    },
  },
  {
    name: "files: touching a file that is not there adds none",
    async run({ store }) {
      const { chunks: _chunks, ...facts } = fileOf("ghost.md", []);
      await store.touchFiles([facts]);
      assert.deepEqual(await factsIn(store), []);
    },
  },
  {
    name: "files: a thousand go in and out in one call",
    needs: ["keyword"],
    async run({ store }) {
      const many = Array.from({ length: 1000 }, (_, index) => fileOf(`memory/${index}.md`, [`word number${index}`]));
      await store.replaceFiles(many);
      assert.equal((await store.listFiles()).length, 1000);
      await store.removeFiles(many.slice(1));
      const { rows } = await store.searchKeyword({ terms: exactly("word"), sources: bothSources, limit: 2000 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["memory/0.md"],
      );
    },
  },
];
