import { expect, test } from "vitest";
import { edit } from "../test/damage.ts";
import { embedAll, fileOf, near, open, pendingTexts, spaceOf, tempPath, vectorOf } from "../test/stores.ts";

const off = { enabled: false };
const broken = { enabled: true, extensionPath: "/nowhere/vec0" };
const space = spaceOf("m");

function manyFiles(count: number): ReturnType<typeof fileOf>[] {
  return Array.from({ length: count }, (_, index) =>
    fileOf(`${index}.md`, [`text ${index}`, `text ${index % 50}`], index % 4 === 0 ? "sessions" : "memory"),
  );
}

function vectorCount(path: string): number {
  return edit(path, (db) => db.prepare<[], number>("SELECT count(*) FROM chunks_vec_1_rowids").pluck().get() ?? -1);
}

test("with sqlite-vec, without it, and with it switched off, answers are the same to the last digit", async () => {
  const path = await tempPath();
  const wide = spaceOf("m", 32);
  const answers: unknown[] = [];
  for (const vector of [{ enabled: true }, broken, off]) {
    const store = await open(path, { vector });
    if (answers.length === 0) await store.replaceFiles(manyFiles(400));
    await store.useSpace(wide);
    if (answers.length === 0) expect(await embedAll(store, wide)).toBe(400);
    const given = [];
    for (const [index, sources] of [["memory"], ["sessions"], ["memory", "sessions"], ["none"]].entries()) {
      const query = { space: wide, vector: vectorOf(`query ${index}`, 32), sources, limit: 25 };
      given.push((await store.searchVector(query)).rows);
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
    await store.useSpace(space);
    await embedAll(store, space);
    const { rows } = await store.searchVector({ space, vector: vectorOf("other"), sources: ["memory"], limit: 5 });
    expect(rows.map((row) => row.startLine)).toEqual([1, 2, 3, 4, 5]);
    await store.close();
  }
});

test("sqlite-vec is loaded when a space is used or when it is probed, not before", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await embedAll(store, space);
  await store.spaceStats(space);
  expect(store.health().vector).toStrictEqual({ enabled: true });
  expect(await store.probeVector()).toBe(true);
  expect(store.health().vector).toMatchObject({
    enabled: true,
    available: true,
    extensionPath: expect.stringContaining("vec0"),
  });
  const other = await open(await tempPath());
  await other.useSpace(space);
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
  await store.useSpace(space);
  await embedAll(store, space);
  expect(await near(store, space, "two", 1)).toEqual(["two"]);
  expect(store.health()).toMatchObject({ vector: { enabled: false }, notices: [] });
  expect(store.health().vector.available).toBeUndefined();
});

test("what a process without sqlite-vec changes is right for one that has it", async () => {
  const path = await tempPath();
  const withVec = await open(path);
  await withVec.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await withVec.useSpace(space);
  await embedAll(withVec, space);
  const without = await open(path, { vector: off });
  await without.removeFiles([{ path: "b.md", source: "memory" }]);
  await without.replaceFiles([fileOf("c.md", ["four", "five"])]);
  await embedAll(without, space);
  expect((await near(withVec, space, "four")).toSorted()).toEqual(["five", "four", "one", "two"]);
  expect(await near(withVec, space, "five", 1)).toEqual(["five"]);
  expect(vectorCount(path)).toBe(4);
});

test("a process that changes files and searches nothing keeps the table of sqlite-vec in step", async () => {
  const path = await tempPath();
  const first = await open(path);
  await first.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await first.useSpace(space);
  await embedAll(first, space);
  await first.close();
  const second = await open(path);
  await second.removeFiles([{ path: "b.md", source: "memory" }]);
  await second.replaceFiles([fileOf("a.md", ["one"]), fileOf("c.md", ["three", "four"])]);
  await second.putVectors(space, [{ hash: fileOf("c.md", ["four"]).chunks[0]?.hash ?? "", vector: vectorOf("four") }]);
  await second.close();
  expect(edit(path, (db) => db.prepare("SELECT value FROM meta WHERE key = 'vector_space:1'").pluck().get())).toBe("1");
  expect(vectorCount(path)).toBe(3);
  const third = await open(path);
  await third.useSpace(space);
  expect(await near(third, space, "four")).toHaveLength(3);
  expect(await near(third, space, "four", 1)).toEqual(["four"]);
});

test.each([
  ["missing", "DROP TABLE chunks_vec_1"],
  ["short of rows", "DELETE FROM chunks_vec_1 WHERE rowid = 1"],
  ["of another space", "UPDATE meta SET value = '7' WHERE key = 'vector_space:1'"],
  [
    "full of holes",
    "INSERT INTO chunks_vec_1_chunks (size, sequence_id, partition00, validity, rowids) SELECT 128, 0, 'gone', zeroblob(16), zeroblob(1024) FROM pragma_function_list LIMIT 60",
  ],
])("a table of sqlite-vec that is %s is made anew from the stored vectors", async (_, change) => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  await store.useSpace(space);
  await embedAll(store, space);
  const { extensionPath } = store.health().vector;
  await store.close();
  edit(path, (db) => {
    // With the module loaded its inner tables are protected.
    if (!change.includes("chunks_vec_1_chunks")) db.loadExtension(extensionPath ?? "");
    db.exec(change);
  });
  const again = await open(path);
  await again.useSpace(space);
  expect(await pendingTexts(again, space)).toEqual([]);
  expect(await near(again, space, "one", 1)).toEqual(["one"]);
  expect(again.health().notices).toEqual([]);
  await again.close();
  expect(vectorCount(path)).toBe(3);
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM chunks_vec_1_chunks").pluck().get())).toBe(1);
});

test("a table of sqlite-vec that fails in use gives way to comparing all vectors", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  await store.useSpace(space);
  await embedAll(store, space);
  edit(path, (db) => db.exec("DELETE FROM chunks_vec_1_vector_chunks00"));
  expect(await near(store, space, "one", 1)).toEqual(["one"]);
  expect(store.health().vector).toMatchObject({ available: false });
  expect(store.health().notices).toHaveLength(1);
  await store.replaceFiles([fileOf("b.md", ["four"])]);
  await embedAll(store, space);
  expect(await near(store, space, "four", 1)).toEqual(["four"]);
});

test("a chunk whose vector is known has it as soon as it is in, in the table too", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(space);
  await embedAll(store, space);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect(vectorCount(path)).toBe(0);
  await store.replaceFiles([fileOf("moved.md", ["two", "three", "two"], "sessions")]);
  expect(await pendingTexts(store, space)).toEqual(["three"]);
  expect(vectorCount(path)).toBe(2);
  expect(await near(store, space, "two")).toEqual(["two", "two"]);
  expect(await store.spaceStats(space)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
});

test("vectors are handed over as copies: the caller's stay as they are, parts of a larger buffer too", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(space);
  const large = new Float32Array(1000).fill(7);
  const pending = await store.pendingVectors(space, 5);
  const entries = pending.map(({ hash, text }, index) => {
    large.set(vectorOf(text), index * 8);
    return { hash, vector: large.subarray(index * 8, index * 8 + 8) };
  });
  await store.putVectors(space, entries);
  const query = large.subarray(0, 8);
  const { rows } = await store.searchVector({ space, vector: query, sources: ["memory"], limit: 1 });
  expect(rows[0]?.text).toBe(pending[0]?.text);
  expect(rows[0]?.score).toBeCloseTo(1, 5);
  expect([large.length, large[999], query.length]).toEqual([1000, 7, 8]);
});
