import { expect, test } from "vitest";
import {
  edit,
  bytesOf,
  faultsOf,
  fill,
  notes,
  editedSpace as space,
  textOf,
  embedAll,
  fileOf,
  find,
  near,
  open,
  openWith,
  tempPath,
  runChild,
  spaceOf,
} from "../test/stores.ts";

const large = Array.from({ length: 400 }, (_, index) =>
  fileOf(`${index}.md`, [`word${index} ${"filler ".repeat(3000)}`]),
);

test("the vectors of notes that are gone for a while are kept, however long they are gone", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  for (let round = 0; round < 5; round++) {
    await store.removeFiles(notes);
    // Each call is followed by what can wait.
    for (let call = 0; call < 5; call++) await store.stats();
    await store.compact();
    await store.replaceFiles(notes);
    expect(await store.pendingVectors(space, 1000)).toEqual([]);
  }
});

test("of the vectors of old texts those go that were used longest ago, and none of a text that is there", async () => {
  const store = await open(await tempPath());
  await fill(store);
  const versions = Array.from({ length: 80 }, (_, version) =>
    fileOf(
      "note0.md",
      [0, 1, 2, 3, 4, 5, 6, 7].map((part) => textOf(`e${part}`, version)),
    ),
  );
  for (const version of versions) {
    await store.replaceFiles([version]);
    await embedAll(store, space);
  }
  const chunks = (await store.stats()).chunks;
  await expect.poll(async () => (await store.stats()).cachedVectors, { timeout: 60_000 }).toBeLessThan(2.5 * chunks);
  expect(await store.pendingVectors(space, 1000)).toEqual([]);
  await store.replaceFiles(versions.slice(78, 79));
  expect(await store.pendingVectors(space, 1000)).toEqual([]);
  await store.replaceFiles(versions.slice(0, 1));
  expect(await store.pendingVectors(space, 1000)).toHaveLength(8);
});

test("what deleted notes have left is given back piece by piece, without being asked for", async () => {
  const { path, store } = await openWith(large);
  const full = bytesOf(path);
  expect(full).toBeGreaterThan(6_000_000);
  await store.removeFiles(large.slice(10));
  // Each call is followed by a piece of it.
  await expect.poll(async () => (await store.stats()).reusableBytes, { timeout: 60_000 }).toBeLessThan(1_100_000);
  await store.close();
  expect(bytesOf(path)).toBeLessThan(full / 3);
  expect(await find(await open(path), "word3")).toHaveLength(1);
});

test("compacting gives back all that is free, and the index answers as before", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  await store.replaceFiles(large.slice(0, 40));
  await store.removeFiles(large.slice(0, 40));
  const report = await store.compact();
  const stats = await store.stats();
  expect(stats.reusableBytes).toBe(0);
  expect(stats.walBytes).toBe(0);
  expect(report?.afterBytes).toBe(stats.databaseBytes);
  expect(report?.beforeBytes).toBeGreaterThan(stats.databaseBytes);
  expect(await find(store, "note7p3key0")).toHaveLength(1);
  expect(await near(store, space, textOf("note9p2"), 1)).toEqual([textOf("note9p2")]);
  expect(await faultsOf(store)).toEqual([]);
  expect(await store.compact()).toEqual({ beforeBytes: stats.databaseBytes, afterBytes: stats.databaseBytes });
});

test("an old build that was not yet deleted is gone after compacting", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  await store.compact();
  const before = (await store.stats()).databaseBytes;
  const build = await store.startBuild("v2");
  await build.replaceFiles(notes);
  await store.finishBuild();
  await store.compact();
  const names = (await store.tables())?.map(({ name }) => name);
  expect(names).toContain("chunks_fts_2");
  expect(names).not.toContain("chunks_fts_1");
  expect(names).not.toContain("chunks_codes_1");
  expect((await store.stats()).databaseBytes).toBeLessThan(1.3 * before);
  expect(await near(store, space, textOf("note9p2"), 1)).toEqual([textOf("note9p2")]);
});

test("other processes write while one compacts, and nothing is lost", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  const child = runChild(["write-files", path, "p", "12"]);
  await child.line("wrote");
  do await store.compact();
  while (child.process.exitCode === null && child.process.signalCode === null);
  expect(await child.ended, child.output()).toBe(0);
  expect(await find(store, "batch11")).toHaveLength(50);
  expect(await faultsOf(store)).toEqual([]);
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
  expect(edit(path, (db) => db.pragma("auto_vacuum", { simple: true }))).toBe(2);
});
