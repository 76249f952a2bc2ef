import assert from "node:assert/strict";
import {
  type StoreCheck,
  bothSources,
  chunkCountOf,
  chunkOf,
  exactly,
  fileOf,
  listIn,
  pathsIn,
  placesWith,
  rowsWith,
  textsWith,
} from "./lab.ts";

/** What a store does with whole files. */
export const fileChecks: readonly StoreCheck[] = [
  {
    name: "files: an empty store answers everything with nothing",
    async run({ store }) {
      assert.deepEqual(await store.listFiles(), []);
      const answer = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 10 });
      assert.deepEqual(answer, { rows: [], chunkCount: 0, documentFrequencies: [0] });
      assert.equal(await chunkCountOf(store), 0);
      await store.replaceFiles([]);
      await store.removeFiles([]);
      assert.deepEqual(await store.listFiles(), []);
    },
  },
  {
    name: "files: path, source, hash and recipe come back as they were given",
    async run({ store }) {
      const facts = {
        path: 'memory/Ünïcode 笔记\'s "notes"\n%_\\.md',
        source: "of somebody's own",
        hash: fileOf("", ["one"]).hash,
        recipe: '{"words":3,"of":"会话 🙂"}',
      };
      await store.replaceFiles([{ ...facts, chunks: [chunkOf("one")] }]);
      assert.deepEqual(await listIn(store), [facts]);
      await store.replaceFiles([{ ...facts, recipe: "2", chunks: [chunkOf("one")] }]);
      assert.deepEqual(await listIn(store), [{ ...facts, recipe: "2" }]);
    },
  },
  {
    name: "files: a file without chunks is held",
    async run({ store }) {
      await store.replaceFiles([fileOf("memory/empty.md", [])]);
      await store.replaceFiles([fileOf("memory/emptied.md", ["word"])]);
      await store.replaceFiles([fileOf("memory/emptied.md", [])]);
      assert.deepEqual(await pathsIn(store), ["memory/emptied.md", "memory/empty.md"]);
      assert.equal(await chunkCountOf(store), 0);
      await store.removeFiles([{ path: "memory/empty.md", source: "memory" }]);
      assert.deepEqual(await pathsIn(store), ["memory/emptied.md"]);
    },
  },
  {
    name: "files: a replaced file leaves nothing of its old chunks",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["alpha old", "beta old", "gamma old"]),
        fileOf("b.md", ["alpha other"]),
      ]);
      await store.replaceFiles([fileOf("a.md", ["delta new"])]);
      assert.deepEqual(await textsWith(store, "old"), []);
      assert.deepEqual(await textsWith(store, "delta"), ["delta new"]);
      assert.deepEqual(await textsWith(store, "alpha"), ["alpha other"]);
      const counts = await store.searchKeyword({ terms: exactly("old", "alpha"), sources: ["memory"], limit: 1 });
      assert.deepEqual([counts.chunkCount, counts.documentFrequencies], [2, [0, 1]]);
    },
  },
  {
    name: "files: the last of two versions in one call stands",
    async run({ store }) {
      const [first, second] = [fileOf("a.md", ["version one", "version two"]), fileOf("a.md", ["version three"])];
      await store.replaceFiles([first, second]);
      assert.deepEqual(await textsWith(store, "version"), ["version three"]);
      assert.deepEqual(
        (await listIn(store)).map(({ hash }) => hash),
        [second.hash],
      );
    },
  },
  {
    name: "files: two chunks of one text are both kept",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["the same text", "the same text"]), fileOf("b.md", ["the same text"])]);
      assert.deepEqual(await placesWith(store, "same"), ["a.md:1", "a.md:11", "b.md:1"]);
      assert.equal(await chunkCountOf(store), 3);
    },
  },
  {
    name: "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["word a"]), fileOf("b.md", ["word b"])]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "never-there.md", source: "memory" },
        { path: "b.md", source: "sessions" },
      ]);
      assert.deepEqual(await textsWith(store, "word"), ["word b"]);
      assert.deepEqual(await pathsIn(store), ["b.md"]);
      assert.equal(await chunkCountOf(store), 1);
    },
  },
  {
    name: "files: a file that was removed can be given again",
    async run({ store }) {
      for (const text of ["word one", "word two", "word one"]) {
        await store.replaceFiles([fileOf("a.md", [text])]);
        assert.deepEqual(await textsWith(store, "word"), [text]);
        await store.removeFiles([{ path: "a.md", source: "memory" }]);
        assert.deepEqual([await textsWith(store, "word"), await store.listFiles()], [[], []]);
      }
    },
  },
  {
    name: "files: the same path in two sources is two files",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["word memory"]),
        fileOf("a.md", ["word sessions"], { source: "sessions" }),
      ]);
      assert.deepEqual(await textsWith(store, "word"), ["word memory", "word sessions"]);
      await store.replaceFiles([fileOf("a.md", ["word again"], { source: "sessions" })]);
      assert.deepEqual(await textsWith(store, "word"), ["word again", "word memory"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.deepEqual(
        (await listIn(store)).map((file) => file.source),
        ["sessions"],
      );
      assert.deepEqual(await textsWith(store, "word"), ["word again"]);
    },
  },
  {
    name: "files: paths that are easily taken for each other are files of their own",
    async run({ store }) {
      const paths = [
        "a_b.md",
        "axb.md",
        "A_B.md",
        "a%.md",
        "caf\u00e9.md",
        "cafe\u0301.md",
        "q'.md",
        "q\\'.md",
        "s .md",
        "s.md",
        "🙂.md",
      ];
      await store.replaceFiles(paths.map((path, index) => fileOf(path, [`word ${index}`])));
      assert.deepEqual(await pathsIn(store), paths.toSorted());
      for (const [index, path] of paths.entries()) {
        const rows = await rowsWith(store, String(index));
        assert.deepEqual(
          rows.map((row) => row.path),
          [path],
        );
      }
      await store.removeFiles([{ path: "a_b.md", source: "memory" }]);
      await store.replaceFiles([fileOf("cafe\u0301.md", [])]);
      assert.equal((await rowsWith(store, "word")).length, paths.length - 2);
      assert.equal((await store.listFiles()).length, paths.length - 1);
    },
  },
  {
    name: "files: a thousand go in and out in one call",
    async run({ store }) {
      const many = Array.from({ length: 1000 }, (_, index) => fileOf(`memory/${index}.md`, [`word number${index}`]));
      await store.replaceFiles(many);
      assert.equal((await store.listFiles()).length, 1000);
      assert.equal((await rowsWith(store, "word")).length, 1000);
      await store.removeFiles(many.slice(1));
      const { rows } = await store.searchKeyword({ terms: exactly("word"), sources: bothSources, limit: 2000 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["memory/0.md"],
      );
    },
  },
];
