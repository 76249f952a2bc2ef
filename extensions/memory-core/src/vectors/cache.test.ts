import type { NoteIndex } from "@memslot/indexing";
import { expect, test } from "vitest";
import {
  edit,
  embedAll,
  fileOf,
  near,
  open,
  openWith,
  pendingTexts,
  sha256,
  spaceOf,
  tempPath,
  vectorOf,
  valueIn,
} from "../test/stores.ts";

const space = spaceOf("m");
const other = spaceOf("other");

function texts(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index}`);
}

async function cached(store: NoteIndex): Promise<number> {
  return (await store.stats()).cachedVectors;
}

async function kept(store: NoteIndex, given: readonly string[]): Promise<string[]> {
  const known = await store.knownVectors(space, given.map(sha256));
  return given.filter((text) => known.includes(sha256(text)));
}

/** Puts a text in, gives it its vector, and takes it out again. */
async function pass(store: NoteIndex, text: string): Promise<void> {
  await store.replaceFiles([fileOf("passing.md", [text])]);
  await embedAll(store, space);
  await store.removeFiles([{ path: "passing.md", source: "memory" }]);
}

test("what was used longest ago leaves the cache first; going and coming back are uses", async () => {
  const store = await open(await tempPath(), { cacheMaxEntries: 4 });
  const all = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
  for (const text of ["one", "two", "three", "four"]) await pass(store, text);
  expect(await kept(store, all)).toEqual(["one", "two", "three", "four"]);
  // Found again for a new chunk.
  await store.replaceFiles([fileOf("b.md", ["one"])]);
  await pass(store, "five");
  expect(await kept(store, all)).toEqual(["one", "three", "four", "five"]);
  await store.removeFiles([{ path: "b.md", source: "memory" }]);
  for (const text of ["six", "seven", "eight"]) await pass(store, text);
  expect(await kept(store, all)).toEqual(["one", "six", "seven", "eight"]);
});

test("a use counts in every space that has the vector", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space);
  await embedAll(store, other);
  edit(path, (db) => db.exec("UPDATE embedding_cache SET used_at = 5"));
  await store.replaceFiles([fileOf("b.md", ["one"])]);
  const used = "SELECT count(*) FROM embedding_cache WHERE used_at > 5";
  expect(valueIn(path, used)).toBe(2);
});

test("renaming and moving a file and undoing an edit ask for no vector, with no room in the cache but one", async () => {
  const store = await open(await tempPath(), { cacheMaxEntries: 1 });
  await store.useSpace(space);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space);
  await store.replaceFiles([fileOf("renamed.md", ["one", "two"])]);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect(await pendingTexts(store, space)).toEqual([]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one", "two"], "sessions")]);
  await store.removeFiles([{ path: "renamed.md", source: "memory" }]);
  expect(await pendingTexts(store, space)).toEqual([]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one"], "sessions")]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one", "two"], "sessions")]);
  expect(await pendingTexts(store, space)).toEqual([]);
  expect((await near(store, space, "two")).toSorted()).toEqual(["one", "two"]);
});

test.each([["useSpace"], ["searchVector"]])(
  "without a cache, a space that answers (%s) keeps its vectors while another one is being filled",
  async (call) => {
    const { path, store: before } = await openWith([fileOf("a.md", texts("text", 40))], { cacheMaxEntries: 0 });
    await embedAll(before, space);
    await before.close();
    const store = await open(path, { cacheMaxEntries: 0 });
    if (call === "useSpace") await store.useSpace(space);
    else expect(await near(store, space, "text 3", 1)).toEqual(["text 3"]);
    for (let round = 0; round < 4; round++) {
      const pending = await store.pendingVectors(other, 10);
      await store.putVectors(
        other,
        pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text) })),
      );
      expect(await near(store, space, "text 3", 50)).toHaveLength(40);
    }
    expect(await cached(store)).toBe(80);
    await store.replaceFiles([fileOf("a.md", ["text 0"])]);
    await store.close();
    expect(await cached(await open(path))).toBe(2);
  },
);

test("vectors of a space that this process does not use leave in the order of their last use, live or not", async () => {
  const { path, store: before } = await openWith([fileOf("a.md", texts("text", 10))]);
  await embedAll(before, space);
  await before.replaceFiles([fileOf("a.md", texts("text", 4))]);
  await before.close();
  const store = await open(path, { cacheMaxEntries: 8 });
  await embedAll(store, other);
  expect(await store.spaceStats(other)).toEqual({ embedded: 4, pending: 0, quarantined: 0 });
  expect(await cached(store)).toBe(8);
  await store.replaceFiles([fileOf("b.md", ["new"])]);
  await embedAll(store, other);
  expect((await store.spaces()).map(({ vectors }) => vectors)).toEqual([5, 3]);
});

test("a space that loses vectors to another process still gives all that it has left", async () => {
  const { path, store: first } = await openWith([fileOf("a.md", texts("text", 400))], { cacheMaxEntries: 420 });
  const second = await open(path);
  await embedAll(second, other, { use: true });
  expect(await near(second, other, "text 5", 1)).toEqual(["text 5"]);
  await embedAll(first, space);
  expect(await first.spaceStats(space)).toEqual({ embedded: 400, pending: 0, quarantined: 0 });
  expect(await second.spaceStats(other)).toEqual({ embedded: 20, pending: 380, quarantined: 0 });
  expect(await near(second, other, "anything", 400)).toHaveLength(20);
  const without = await open(path, { vector: { enabled: false } });
  for (const query of ["anything", "text 3", "text 300"]) {
    expect(await near(second, other, query, 3)).toEqual(await near(without, other, query, 3));
  }
  expect(await cached(second)).toBe(420);
});

test("a process that uses no space deletes no vector, however many there are too much", async () => {
  const { path, store: before } = await openWith([fileOf("a.md", texts("text", 10))]);
  await embedAll(before, space);
  await before.close();
  const store = await open(path, { cacheMaxEntries: 0 });
  await store.replaceFiles([fileOf("b.md", ["word"])]);
  await store.spaceStats(space);
  await store.close();
  expect(await cached(await open(path))).toBe(10);
});
