import type { ChunkIndex, PathScope } from "@memslot/indexing";
import { expect, test } from "vitest";
import { embedAll, fileOf, open, spaceOf, tempPath, vectorOf, words } from "../test/stores.ts";

const space = spaceOf("m", 16);
const sources = ["memory", "sessions"];

/** Paths of what both legs find. They have to agree. */
async function within(store: ChunkIndex, scope: PathScope, limit = 500): Promise<string[]> {
  const { rows } = await store.searchKeyword({ terms: words("word"), sources, scope, limit });
  const { rows: near } = await store.searchVector({ space, vector: vectorOf("word", 16), sources, scope, limit });
  const paths = rows.map(({ path }) => path).toSorted();
  expect(near.map(({ path }) => path).toSorted()).toEqual(paths);
  return paths;
}

async function filled(paths: readonly string[]): Promise<ChunkIndex> {
  const store = await open(await tempPath());
  await store.replaceFiles(paths.map((path) => fileOf(path, [`word ${path}`])));
  await store.useSpace(space);
  await embedAll(store, space);
  return store;
}

test("what is shared is found although thousands of private chunks are nearer and fit the words better", async () => {
  const store = await open(await tempPath());
  const many = Array.from({ length: 6000 }, (_, index) => `word word ${index}`);
  await store.replaceFiles([
    fileOf("memory/private.md", many),
    fileOf("shared/team.md", ["a word among many others that are in no way what the question is about"]),
  ]);
  await store.useSpace(space);
  const pending = await store.pendingVectors(space, 10_000);
  const far = vectorOf("far", 16);
  const query = far.map((value) => -value);
  await store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: text.startsWith("word word") ? query : far })),
  );
  const scope = { within: ["shared/"], without: ["memory/", "MEMORY.md"] };
  for (const limit of [1, 6]) {
    const near = await store.searchVector({ space, vector: query, sources, scope, limit });
    expect(near.rows.map(({ path, score }) => [path, Math.round(score * 1e5) / 1e5])).toEqual([["shared/team.md", -1]]);
    const found = await store.searchKeyword({ terms: words("word"), sources, scope, limit });
    expect(found.rows.map(({ path }) => path)).toEqual(["shared/team.md"]);
    // What stands outside is not counted.
    expect([found.chunkCount, found.documentFrequencies]).toEqual([1, [1]]);
  }
  const all = await store.searchVector({ space, vector: query, sources, limit: 1 });
  expect(all.rows[0]?.path).toBe("memory/private.md");
});

test("a place names a file, or with a slash at its end all below it, and without wins over within", async () => {
  const store = await filled(["a.md", "a/b.md", "a/b/c.md", "a/bb.md", "ab.md", "A/b.md"]);
  expect(await within(store, { within: [""], without: [] })).toHaveLength(6);
  expect(await within(store, { within: [], without: [] })).toEqual([]);
  expect(await within(store, { within: [""], without: [""] })).toEqual([]);
  expect(await within(store, { within: ["a/"], without: [] })).toEqual(["a/b.md", "a/b/c.md", "a/bb.md"]);
  expect(await within(store, { within: ["a"], without: [] })).toEqual([]);
  expect(await within(store, { within: ["a/b.md", "ab.md"], without: [] })).toEqual(["a/b.md", "ab.md"]);
  expect(await within(store, { within: ["a/"], without: ["a/b/", "a/bb.md"] })).toEqual(["a/b.md"]);
  expect(await within(store, { within: [""], without: ["a/", "A/"] })).toEqual(["a.md", "ab.md"]);
  expect(await within(store, { within: ["/", "a/b", "a/b.md/"], without: [] })).toEqual([]);
});

const hostile = [
  "100%/x.md",
  "100_/x.md",
  "1000/x.md",
  "it's/x.md",
  'say "hi"/x.md',
  "back\\slash/x.md",
  "new\nline/x.md",
  "[a-z]*/x.md",
  "m/x.md",
  "?/x.md",
  "'; DROP TABLE files; --/x.md",
  "记忆/x.md",
  "e\u0301/x.md",
  "\u00e9/x.md",
  "🙂/x.md",
  "\ud83d/x.md",
  "null/x.md",
  "[]/x.md",
  " /x.md",
];

test("nothing in a path means anything but itself", async () => {
  const store = await filled(hostile);
  // Half a character cannot be stored, here and in any other text.
  const stored = hostile.map((path) => path.toWellFormed());
  for (const [index, path] of hostile.entries()) {
    const folder = path.slice(0, -"x.md".length);
    for (const place of [path, folder]) {
      expect(await within(store, { within: [place], without: [] }), place).toEqual([stored[index]]);
      const others = stored.filter((_, other) => other !== index).toSorted();
      expect(await within(store, { within: [""], without: [place] }), place).toEqual(others);
    }
  }
  expect(await store.listFiles()).toHaveLength(hostile.length);
});

test("thousands of places are looked up, not compared one by one", async () => {
  const paths = Array.from({ length: 3000 }, (_, index) => `notes/${index}.md`);
  const store = await open(await tempPath());
  await store.replaceFiles(paths.map((path) => fileOf(path, ["word"])));
  const scope = { within: paths.filter((_, index) => index % 2 === 0), without: paths.slice(0, 2000) };
  const { rows } = await store.searchKeyword({ terms: words("word"), sources, scope, limit: 5000 });
  expect(rows.map(({ path }) => path).toSorted()).toEqual(scope.within.slice(1000).toSorted());
});

test("a scope and sources both have to fit", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("x/a.jsonl", ["word said"], "sessions"), fileOf("x/a.md", ["word noted"])]);
  const ask = async (...asked: string[]): Promise<string[]> => {
    const scope = { within: ["x/"], without: ["x/other"] };
    const { rows } = await store.searchKeyword({ terms: words("word"), sources: asked, scope, limit: 9 });
    return rows.map(({ text }) => text).toSorted();
  };
  expect(await ask("memory")).toEqual(["word noted"]);
  expect(await ask("sessions")).toEqual(["word said"]);
  expect(await ask("memory", "sessions")).toEqual(["word noted", "word said"]);
});
