import type { ChunkStore } from "@memslot/indexing";
import { expect, test } from "vitest";
import { edit } from "./support/damage.ts";
import { embedAll, fileOf, near, open, sha256, spaceOf, tempPath, vectorOf } from "./support/stores.ts";

const off = { enabled: false };
const broken = { enabled: true, extensionPath: "/nowhere/vec0" };

function manyFiles(count: number): ReturnType<typeof fileOf>[] {
  return Array.from({ length: count }, (_, index) =>
    fileOf(`${index}.md`, [`text ${index}`, `text ${index % 50}`], index % 4 === 0 ? "sessions" : "memory"),
  );
}

function vectorCount(path: string): number {
  return edit(path, (db) => db.prepare<[], number>("SELECT count(*) FROM chunks_vec_rowids").pluck().get() ?? -1);
}

test("with sqlite-vec, without it, and with it switched off, answers are the same to the last digit", async () => {
  const path = await tempPath();
  const answers: unknown[] = [];
  for (const vector of [{ enabled: true }, broken, off]) {
    const store = await open(path, { vector });
    if (answers.length === 0) await store.replaceFiles(manyFiles(400));
    await store.useSpace(spaceOf("m", 32));
    if (answers.length === 0) expect(await embedAll(store, 32)).toBe(400);
    const given = [];
    for (const [index, sources] of [["memory"], ["sessions"], ["memory", "sessions"], ["none"]].entries()) {
      given.push((await store.searchVector({ vector: vectorOf(`query ${index}`, 32), sources, limit: 25 })).rows);
    }
    answers.push(given);
    await store.close();
  }
  const [first] = answers as unknown[][][];
  expect(first?.map((rows) => rows.length)).toEqual([25, 25, 25, 0]);
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test("many equal vectors come in the order of their ids, with and without sqlite-vec", async () => {
  const path = await tempPath();
  for (const vector of [{ enabled: true }, broken]) {
    const store = await open(path, { vector });
    await store.replaceFiles([
      fileOf(
        "a.md",
        Array.from({ length: 700 }, () => "the same"),
      ),
    ]);
    await store.useSpace(spaceOf("m"));
    await embedAll(store);
    const { rows } = await store.searchVector({ vector: vectorOf("other"), sources: ["memory"], limit: 5 });
    expect(rows.map((row) => row.startLine)).toEqual([1, 2, 3, 4, 5]);
    await store.close();
  }
});

test("sqlite-vec is loaded when a space is used or when it is probed, not before", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  expect(store.health().vector).toStrictEqual({ enabled: true });
  expect(await store.probeVector()).toBe(true);
  expect(store.health().vector).toMatchObject({
    enabled: true,
    available: true,
    extensionPath: expect.stringContaining("vec0"),
  });
  const other = await open(await tempPath());
  await other.useSpace(spaceOf("m"));
  expect(other.health().vector.available).toBe(true);
});

test("where it does not load, the status has the loader's own words and there is one notice", async () => {
  const store = await open(await tempPath(), { vector: broken });
  expect(await store.probeVector()).toBe(false);
  await store.useSpace(spaceOf("m"));
  await store.useSpace(spaceOf("n"));
  const { vector, notices } = store.health();
  expect(vector).toMatchObject({ enabled: true, available: false, extensionPath: "/nowhere/vec0" });
  expect(vector.loadError).toMatch(/\/nowhere\/vec0/u);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toContain(vector.loadError);
  expect(notices[0]).toContain("store.vector.extensionPath");
});

test("switched off it is not loaded and nothing is said", async () => {
  const store = await open(await tempPath(), { vector: off });
  expect(await store.probeVector()).toBe(false);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  expect(await near(store, "two", 1)).toEqual(["two"]);
  expect(store.health()).toMatchObject({ vector: { enabled: false }, notices: [] });
  expect(store.health().vector.available).toBeUndefined();
});

test("what a process without sqlite-vec changes is right for one that has it", async () => {
  const path = await tempPath();
  const withVec = await open(path);
  await withVec.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await withVec.useSpace(spaceOf("m"));
  await embedAll(withVec);
  const without = await open(path, { vector: off });
  await without.removeFiles([{ path: "b.md", source: "memory" }]);
  await without.replaceFiles([fileOf("c.md", ["four", "five"])]);
  await without.useSpace(spaceOf("m"));
  await embedAll(without);
  expect((await near(withVec, "four")).toSorted()).toEqual(["five", "four", "one", "two"]);
  expect(await near(withVec, "five", 1)).toEqual(["five"]);
  expect(vectorCount(path)).toBe(4);
});

test("two processes that use different spaces never meet each other's vectors", async () => {
  const path = await tempPath();
  const texts = Array.from({ length: 400 }, (_, index) => `text ${index}`);
  const first = await open(path);
  await first.replaceFiles([fileOf("a.md", texts)]);
  await first.useSpace(spaceOf("first", 16));
  await embedAll(first, 16);
  const second = await open(path);
  await second.useSpace(spaceOf("second", 16));
  expect(await near(second, "text 1", 5, 16)).toEqual([]);
  const pending = await second.pendingVectors(1000);
  // There, each text has the vector that the one after it has here.
  await second.putVectors(
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(`text ${(Number(text.slice(5)) + 1) % 400}`, 16) })),
  );
  for (let round = 0; round < 3; round++) {
    for (const wanted of [7, 77, 277]) {
      expect(await near(first, `text ${wanted}`, 1, 16)).toEqual([`text ${wanted}`]);
      expect(await near(second, `text ${wanted}`, 1, 16)).toEqual([`text ${wanted - 1}`]);
    }
    await (round === 0 ? first : second).replaceFiles([fileOf(`${round}.md`, [`extra ${round}`])]);
  }
});

test("a space that loses vectors to another one still gives all that it has left", async () => {
  const path = await tempPath();
  const second = await open(path, { cacheMaxEntries: 420 });
  await second.replaceFiles([
    fileOf(
      "a.md",
      Array.from({ length: 400 }, (_, index) => `text ${index}`),
    ),
  ]);
  await second.useSpace(spaceOf("second"));
  await embedAll(second);
  const first = await open(path);
  await first.useSpace(spaceOf("first"));
  await embedAll(first);
  expect(await near(first, "text 5", 1)).toEqual(["text 5"]);
  await second.close();
  expect(await first.stats()).toMatchObject({ embedded: 20, cachedVectors: 420 });
  expect(await near(first, "anything", 20)).toHaveLength(20);
  expect(vectorCount(path)).toBe(20);
});

test("vectors of another length under the same name are another space", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  for (const dimensions of [8, 5, 8, 5]) {
    await store.useSpace(spaceOf("m", dimensions));
    await embedAll(store, dimensions);
    expect(await near(store, "two", 1, dimensions)).toEqual(["two"]);
  }
  expect((await store.stats()).cachedVectors).toBe(4);
});

test.each([
  ["missing", "DROP TABLE chunks_vec"],
  ["short of rows", "DELETE FROM chunks_vec WHERE rowid = 1"],
  ["of another space", "UPDATE meta SET value = '[\"other\"]' WHERE key = 'vector_space'"],
  [
    "full of holes",
    "INSERT INTO chunks_vec_chunks (size, sequence_id, partition00, validity, rowids) SELECT 128, 0, 'gone', zeroblob(16), zeroblob(1024) FROM pragma_function_list LIMIT 60",
  ],
])("a table of sqlite-vec that is %s is made anew from the stored vectors", async (_, change) => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  const { extensionPath } = store.health().vector;
  await store.close();
  edit(path, (db) => {
    // With the module loaded its inner tables are protected.
    if (!change.includes("chunks_vec_chunks")) db.loadExtension(extensionPath ?? "");
    db.exec(change);
  });
  const again = await open(path);
  await again.useSpace(spaceOf("m"));
  expect(await again.pendingVectors(5)).toEqual([]);
  expect(await near(again, "one", 1)).toEqual(["one"]);
  expect(again.health().notices).toEqual([]);
  await again.close();
  expect(vectorCount(path)).toBe(3);
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM chunks_vec_chunks").pluck().get())).toBe(1);
});

test("a table of sqlite-vec that fails in use gives way to comparing all vectors", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  edit(path, (db) => db.exec("DELETE FROM chunks_vec_vector_chunks00"));
  expect(await near(store, "one", 1)).toEqual(["one"]);
  expect(store.health().vector).toMatchObject({ available: false });
  expect(store.health().notices).toHaveLength(1);
  await store.replaceFiles([fileOf("b.md", ["four"])]);
  await embedAll(store);
  expect(await near(store, "four", 1)).toEqual(["four"]);
});

test("a chunk whose vector is known has it as soon as it is in, in the table too", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect(vectorCount(path)).toBe(0);
  await store.replaceFiles([fileOf("moved.md", ["two", "three", "two"], "sessions")]);
  expect((await store.pendingVectors(5)).map(({ text }) => text)).toEqual(["three"]);
  expect(vectorCount(path)).toBe(2);
  expect(await near(store, "two")).toEqual(["two", "two"]);
  expect((await store.stats()).embedded).toBe(2);
});

test("the cache is brought down to its size, and chunks that are there keep their vectors", async () => {
  const path = await tempPath();
  const store = await open(path, { cacheMaxEntries: 12 });
  const fill = async (name: string, count: number): Promise<void> => {
    await store.replaceFiles([
      fileOf(
        "a.md",
        Array.from({ length: count }, (_, index) => `${name} ${index}`),
      ),
    ]);
    await embedAll(store);
  };
  await store.useSpace(spaceOf("m"));
  await fill("first", 10);
  await fill("second", 10);
  expect((await store.stats()).cachedVectors).toBe(12);
  expect(await store.pendingVectors(99)).toEqual([]);
  await fill("third", 20);
  expect((await store.stats()).cachedVectors).toBe(20);
  expect(await store.pendingVectors(99)).toEqual([]);
  await fill("fourth", 1);
  expect((await store.stats()).cachedVectors).toBe(12);
  expect(await near(store, "fourth 0", 1)).toEqual(["fourth 0"]);
});

test("what was used longest ago leaves the cache first", async () => {
  const path = await tempPath();
  const store = await open(path, { cacheMaxEntries: 3 });
  await store.useSpace(spaceOf("m"));
  const texts = ["two days", "three days", "four days"];
  for (const text of texts) {
    await store.replaceFiles([fileOf("a.md", [text])]);
    await embedAll(store);
  }
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  edit(path, (db) => {
    const age = db.prepare("UPDATE embedding_cache SET updated_at = ? WHERE hash = ?");
    for (const [index, text] of texts.entries()) age.run(Date.now() - (index + 2) * 24 * 60 * 60 * 1000, sha256(text));
  });
  // Used once more, and no longer the oldest.
  await store.replaceFiles([fileOf("b.md", ["four days"])]);
  await store.removeFiles([{ path: "b.md", source: "memory" }]);
  await store.replaceFiles([fileOf("a.md", ["new"])]);
  await embedAll(store);
  const kept = edit(path, (db) => db.prepare<[], string>("SELECT hash FROM embedding_cache").pluck().all());
  expect(kept.toSorted()).toEqual(["two days", "four days", "new"].map(sha256).toSorted());
});

test("a store that holds no vectors beyond those in use still keeps those", async () => {
  const store: ChunkStore = await open(await tempPath(), { cacheMaxEntries: 0 });
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  expect((await store.stats()).cachedVectors).toBe(2);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  await store.replaceFiles([fileOf("b.md", ["three"])]);
  await embedAll(store);
  expect((await store.stats()).cachedVectors).toBe(1);
});

test("closing brings the cache down too", async () => {
  const path = await tempPath();
  const store = await open(path, { cacheMaxEntries: 1 });
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  await store.useSpace(spaceOf("m"));
  await embedAll(store);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  await store.close();
  expect((await (await open(path)).stats()).cachedVectors).toBe(1);
});

test("vectors are handed over as copies: the caller's stay as they are, parts of a larger buffer too", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(spaceOf("m"));
  const large = new Float32Array(1000).fill(7);
  const pending = await store.pendingVectors(5);
  const entries = pending.map(({ hash, text }, index) => {
    large.set(vectorOf(text), index * 8);
    return { hash, vector: large.subarray(index * 8, index * 8 + 8) };
  });
  await store.putVectors(entries);
  const query = large.subarray(0, 8);
  const { rows } = await store.searchVector({ vector: query, sources: ["memory"], limit: 1 });
  expect(rows[0]?.text).toBe(pending[0]?.text);
  expect(rows[0]?.score).toBeCloseTo(1, 5);
  expect([large.length, large[999], query.length]).toEqual([1000, 7, 8]);
});
