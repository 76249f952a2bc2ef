import { expect, test } from "vitest";
import type { OpenedStore } from "../database/database-store.ts";
import { fileOf, open, openHere, sha256, spaceOf, tempPath, vectorOf } from "../test/ledgers.ts";

const space = spaceOf("m");
const live = fileOf("a.md", ["live 0", "live 1", "live 2"]);

function put(store: OpenedStore, name: string, count: number): void {
  const hashes = Array.from({ length: count }, (_, index) => sha256(`${name} ${index}`));
  store.putVectors(
    space,
    hashes.map((hash) => ({ hash, vector: vectorOf("x") })),
  );
}

test("a large surplus goes in small steps, the oldest first, and what is live stays", async () => {
  const path = tempPath();
  const before = openHere(path, { cacheMaxEntries: 50_000 });
  before.replaceFiles([live]);
  put(before, "live", 3);
  for (let round = 0; round < 6; round++) put(before, `gone ${round}`, 1000);
  before.close();

  const store = openHere(path, { cacheMaxEntries: 703 });
  const count = (): number => store.stats().cachedVectors;
  expect(await store.tidy()).toBe(false);
  expect(count()).toBe(6003);
  put(store, "live", 1);
  const counts = [count()];
  while (await store.tidy()) counts.push(count());
  counts.push(count());
  const steps = counts.slice(1).map((left, index) => (counts[index] ?? 0) - left);
  expect(counts[0]).toBe(5003);
  expect(counts.at(-1)).toBe(703);
  expect(Math.max(...steps)).toBe(500);
  expect(store.pendingVectors(space, 5)).toEqual([]);
  const young = Array.from({ length: 1000 }, (_, index) => sha256(`gone 5 ${index}`));
  expect(store.knownVectors(space, young)).toHaveLength(700);
  store.close();
});

test("closing deletes what is too much by then", async () => {
  const path = tempPath();
  const before = openHere(path, { cacheMaxEntries: 50_000 });
  before.replaceFiles([live]);
  put(before, "gone", 500);
  before.close();
  const store = openHere(path, { cacheMaxEntries: 100 });
  store.useSpace(space);
  store.touchFiles([live]);
  store.close();
  const after = openHere(path, { cacheMaxEntries: 100 });
  expect(after.stats().cachedVectors).toBe(100);
  after.close();
});

test("while all that is too much is live nothing goes, and when a chunk goes the surplus does", async () => {
  const store = openHere(tempPath(), { cacheMaxEntries: 2 });
  store.replaceFiles([live, fileOf("b.md", ["more 0"])]);
  put(store, "live", 3);
  put(store, "more", 1);
  expect(store.stats().cachedVectors).toBe(4);
  store.removeFiles([live]);
  put(store, "gone", 1);
  expect(store.stats().cachedVectors).toBe(2);
  put(store, "gone again", 1);
  expect(store.stats().cachedVectors).toBe(2);
  store.close();
});

test("what is used again while it waits for its turn stays", async () => {
  const store = openHere(tempPath(), { cacheMaxEntries: 3 });
  for (const name of ["a", "b", "c", "d"]) put(store, name, 1);
  store.replaceFiles([fileOf("b.md", ["b 0"])]);
  store.removeFiles([{ path: "b.md", source: "memory" }]);
  put(store, "e", 1);
  const hashes = ["a", "b", "c", "d", "e"].map((name) => sha256(`${name} 0`));
  expect(store.knownVectors(space, hashes)).toEqual([hashes[1], hashes[3], hashes[4]]);
  store.close();
});

test("in use, calls are answered before the rest of a surplus has gone", async () => {
  const path = tempPath();
  const before = openHere(path, { cacheMaxEntries: 50_000 });
  for (let round = 0; round < 8; round++) put(before, `gone ${round}`, 1000);
  before.close();
  const store = await open(path, { cacheMaxEntries: 10 });
  const putting = store.putVectors(space, [{ hash: sha256("new"), vector: vectorOf("new") }]);
  const first = store.stats();
  await putting;
  expect((await first).cachedVectors).toBeGreaterThan(10);
  let left = 0;
  do left = (await store.stats()).cachedVectors;
  while (left > 10);
  expect(left).toBe(10);
});
