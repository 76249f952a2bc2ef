import { expect, test } from "vitest";
import { edit, embedAll, fileOf, near, open, pendingTexts, spaceOf, tempPath, vectorOf } from "../test/stores.ts";

const off = { enabled: false };
const broken = { enabled: true, engine: "sqlite-vec", extensionPath: "/nowhere/vec0" } as const;
const space = spaceOf("m");

function vectorCount(path: string): number {
  return edit(path, (db) => db.prepare<[], number>("SELECT count(*) FROM chunks_codes_1_places").pluck().get() ?? -1);
}

test("many equal vectors come in the order of their ids, whatever compares them", async () => {
  const path = await tempPath();
  for (const engine of ["wasm", "sqlite-vec", "exact"] as const) {
    const vector = { enabled: true, engine };
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

test("what compares vectors is loaded when a space is used or when it is probed, not before", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await embedAll(store, space);
  await store.spaceStats(space);
  expect(store.health().vector).toStrictEqual({ enabled: true });
  expect(await store.probeVector()).toBe(true);
  expect(store.health().vector).toStrictEqual({ enabled: true, available: true, engine: "wasm" });
  const other = await open(await tempPath(), { vector: { enabled: true, engine: "sqlite-vec" } });
  await other.useSpace(space);
  expect(await other.probeVector()).toBe(true);
  expect(other.health().vector).toStrictEqual({
    enabled: true,
    available: true,
    engine: "sqlite-vec",
    extensionPath: expect.stringContaining("vec0") as string,
  });
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
  expect(vector.engine).toBe("exact");
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

test("what a process that compares otherwise changes is right for one that has laid codes out", async () => {
  const path = await tempPath();
  const withCodes = await open(path);
  await withCodes.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await withCodes.useSpace(space);
  await embedAll(withCodes, space);
  const without = await open(path, { vector: off });
  await without.removeFiles([{ path: "b.md", source: "memory" }]);
  await without.replaceFiles([fileOf("c.md", ["four", "five"])]);
  await embedAll(without, space);
  expect((await near(withCodes, space, "four")).toSorted()).toEqual(["five", "four", "one", "two"]);
  expect(await near(withCodes, space, "five", 1)).toEqual(["five"]);
  expect(vectorCount(path)).toBe(4);
});

test("a process that changes files and searches nothing keeps the codes in step", async () => {
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
