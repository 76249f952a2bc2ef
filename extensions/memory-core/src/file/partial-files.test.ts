import type { IndexedFile } from "@memslot/indexing";
import { expect, test } from "vitest";
import { edit, embedAll, fileOf, find, near, open, pendingTexts, spaceOf, tempPath } from "../test/stores.ts";

const space = spaceOf("m");

/** A file whose chunks begin at these lines. */
function linesOf(path: string, chunks: readonly [number, string][], more: Partial<IndexedFile> = {}): IndexedFile {
  const file = fileOf(
    path,
    chunks.map(([, text]) => text),
  );
  const at = file.chunks.map((chunk, index) => {
    const startLine = chunks[index]?.[0] ?? 0;
    return { ...chunk, startLine, endLine: startLine + 4 };
  });
  return { ...file, chunks: at, ...more };
}

test("only what begins at the line or later is replaced, in every table", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.useSpace(space);
  await store.replaceFiles([
    linesOf("a.md", [
      [1, "one"],
      [5, "two"],
      [9, "three"],
    ]),
    linesOf("b.md", [[9, "other"]]),
  ]);
  await embedAll(store, space);
  const ids = async (): Promise<Map<string, unknown>> => {
    const terms = ["one", "two", "three", "four", "other"].map((term) => ({ term, prefix: false }));
    const { rows } = await store.searchKeyword({ terms, sources: ["memory"], limit: 9 });
    return new Map(rows.map((row) => [row.text, row.id]));
  };
  const before = await ids();
  await store.replaceFiles([linesOf("a.md", [[7, "four"]], { fromLine: 5, hash: "later", size: 99 })]);
  const after = await ids();
  expect([...after.keys()].toSorted()).toEqual(["four", "one", "other"]);
  for (const kept of ["one", "other"]) expect(after.get(kept), "it was not written again").toBe(before.get(kept));
  expect(await pendingTexts(store, space)).toEqual(["four"]);
  expect((await near(store, space, "three")).toSorted()).toEqual(["one", "other"]);
  expect((await store.listFiles()).map(({ path: name, hash, size }) => [name, hash, size])).toEqual([
    ["a.md", "later", 99],
    ["b.md", fileOf("b.md", ["other"]).hash, 10],
  ]);
  await store.close();
  edit(path, (db) => {
    expect(db.prepare("SELECT count(*) FROM chunks_fts_1_docsize").pluck().get()).toBe(3);
    expect(db.prepare("SELECT count(*) FROM chunks_codes_1_places").pluck().get()).toBe(2);
  });
});

test("a file that was not there is put in whole, whatever line it begins at; from line 1 all is replaced", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([
    linesOf(
      "a.md",
      [
        [1, "one"],
        [5, "two"],
      ],
      { fromLine: 5 },
    ),
  ]);
  expect((await find(store, "one", "two")).toSorted()).toEqual(["one", "two"]);
  await store.replaceFiles([linesOf("a.md", [], { fromLine: 6 })]);
  expect((await find(store, "one", "two")).toSorted()).toEqual(["one", "two"]);
  await store.replaceFiles([linesOf("a.md", [[1, "three"]], { fromLine: 1 })]);
  expect(await find(store, "one", "two", "three")).toEqual(["three"]);
});

test("counts and bytes are those of the chunks that are there, after any changes", async () => {
  const path = await tempPath();
  const store = await open(path);
  const counted = async (): Promise<unknown> => (await store.stats()).sources;
  await store.replaceFiles([
    linesOf(
      "a.md",
      [
        [1, "héllo"],
        [5, "记忆"],
        [9, "\ud83d"],
      ],
      { size: 100 },
    ),
    { ...fileOf("s.jsonl", ["said"], "sessions"), size: 7 },
    { ...fileOf("empty.md", []), size: 0 },
  ]);
  expect(await counted()).toEqual([
    { source: "memory", files: 2, chunks: 3, bytes: 100, chunkBytes: 6 + 6 + 3 },
    { source: "sessions", files: 1, chunks: 1, bytes: 7, chunkBytes: 4 },
  ]);
  await store.replaceFiles([linesOf("a.md", [[6, "é"]], { fromLine: 5, size: 120 })]);
  expect(await counted()).toMatchObject([{ files: 2, chunks: 2, bytes: 120, chunkBytes: 6 + 2 }, {}]);
  await store.touchFiles([{ ...fileOf("a.md", []), size: 130 }]);
  expect(await counted()).toMatchObject([{ files: 2, chunks: 2, bytes: 130, chunkBytes: 6 + 2 }, {}]);
  await store.replaceFiles([linesOf("a.md", [[1, "x"]], { size: 1 })]);
  await store.removeFiles([{ path: "s.jsonl", source: "sessions" }]);
  expect(await counted()).toEqual([{ source: "memory", files: 2, chunks: 1, bytes: 1, chunkBytes: 1 }]);
  expect(await store.stats()).toMatchObject({ files: 2, chunks: 1 });
  const inTables = edit(path, (db) =>
    db
      .prepare("SELECT sum(chunks), sum(chunk_bytes), (SELECT sum(octet_length(text)) FROM chunks) FROM files")
      .raw()
      .get(),
  );
  expect(inTables).toEqual([1, 1, 1]);
});

test("bytes of vectors and of pages that hold nothing are counted", async () => {
  const path = await tempPath();
  const store = await open(path);
  const texts = Array.from({ length: 300 }, (_, index) => `word ${index} ${"x".repeat(1000)}`);
  await store.replaceFiles([fileOf("a.md", texts)]);
  for (const dimensions of [8, 5]) await embedAll(store, spaceOf("m", dimensions));
  expect(await store.stats()).toMatchObject({ cachedVectors: 600, cachedVectorBytes: 300 * (8 + 5) * 4 });
  const before = (await store.stats()).reusableBytes;
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect((await store.stats()).reusableBytes - before).toBeGreaterThan(250_000);
  // The file can give them back one by one.
  expect(edit(path, (db) => db.pragma("auto_vacuum", { simple: true }))).toBe(2);
});

test("where the reading of a file goes on is kept, changed and forgotten with what is written of it", async () => {
  const path = await tempPath();
  const store = await open(path);
  const cursors = async (): Promise<(string | undefined)[]> => (await store.listFiles()).map(({ cursor }) => cursor);
  await store.replaceFiles([fileOf("a.md", ["one"]), { ...fileOf("b.jsonl", ["two"]), cursor: '{"bytes":12}' }]);
  expect(await cursors()).toEqual([undefined, '{"bytes":12}']);
  await store.touchFiles([{ ...fileOf("b.jsonl", []), cursor: "13" }]);
  expect(await cursors()).toEqual([undefined, "13"]);
  await store.replaceFiles([{ ...fileOf("b.jsonl", ["three"]), cursor: "14", fromLine: 2 }]);
  await store.close();
  const again = await open(path);
  expect((await again.listFiles()).map(({ cursor }) => cursor)).toEqual([undefined, "14"]);
  await again.replaceFiles([fileOf("b.jsonl", ["four"])]);
  expect((await again.listFiles()).every(({ cursor }) => cursor === undefined)).toBe(true);
});
