import { expect, test } from "vitest";
import type { OpenedStore } from "../database/database-store.ts";
import { edit, embed, fileOf, findingsOf, openHere, sha256, spaceOf, tempPath } from "../test/ledgers.ts";

const space = spaceOf("m");
const file = { path: "a.md", source: "memory" };

async function withAdopted(path: string): Promise<OpenedStore> {
  const store = openHere(path);
  store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  embed(store, space, "two");
  store.quarantine(space, [{ hash: sha256("one"), reason: "refused here" }]);
  store.adoptVectors(space, [file]);
  return store;
}

const pending = (store: OpenedStore): string[] => store.pendingVectors(space, 9).map(({ text }) => text);

test("a file that is adopted counts as embedded, and nothing of it is owed or has numbers", async () => {
  const store = await withAdopted(tempPath());
  expect(pending(store)).toEqual(["three"]);
  expect(store.spaceStats(space)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
  const scope = { within: ["a.md"], without: [] };
  expect(store.spaceStats(space, { sources: ["memory"], scope })).toEqual({ embedded: 2, pending: 0, quarantined: 0 });
  expect(store.knownVectors(space, ["one", "two", "three"].map(sha256))).toEqual(["one", "two"].map(sha256));
  expect(store.vectorOf(space, sha256("one"))).toBeUndefined();
  expect(store.vectorOf(space, sha256("two"))).toBeDefined();
  expect(store.owedVectors(9)?.entries).toMatchObject([{ hash: sha256("two") }]);
  store.quarantine(space, [{ hash: sha256("one"), reason: "refused again" }]);
  expect(store.quarantined(space, 9)).toEqual([]);
  expect(store.stats().cachedVectors).toBe(1);
  store.close();
});

test("numbers take its place, and are owed", async () => {
  const path = tempPath();
  const store = await withAdopted(path);
  embed(store, space, "one");
  expect(store.vectorOf(space, sha256("one"))).toBeDefined();
  expect(store.spaceStats(space)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
  expect(store.owedVectors(9)?.entries).toHaveLength(2);
  store.close();
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM adopted_vectors").pluck().get())).toBe(0);
});

test("it goes with the last chunk that has the text, and not before", async () => {
  const store = await withAdopted(tempPath());
  store.replaceFiles([fileOf("c.md", ["one"])]);
  store.removeFiles([file]);
  expect(pending(store)).toEqual(["three"]);
  store.removeFiles([{ path: "c.md", source: "memory" }]);
  store.replaceFiles([fileOf("c.md", ["one"])]);
  expect(pending(store).toSorted()).toEqual(["one", "three"]);
  store.close();
});

test("it stays over a rebuild that keeps the text, and goes with one that does not", async () => {
  const store = await withAdopted(tempPath());
  store.nextReplaceFiles(store.buildStart("v2"), [fileOf("a.md", ["one"])]);
  store.buildFinish();
  while (await store.tidy());
  expect(pending(store)).toEqual([]);
  store.nextReplaceFiles(store.buildStart("v3"), [fileOf("a.md", ["other"])]);
  store.buildFinish();
  while (await store.tidy());
  store.replaceFiles([fileOf("a.md", ["one"])]);
  expect(pending(store)).toEqual(["one"]);
  store.close();
});

test("it is of this store alone: another one in the file has the text embedded for itself", async () => {
  const path = tempPath();
  const store = await withAdopted(path);
  const second = openHere(path, { store: "second" });
  second.replaceFiles([fileOf("z.md", ["one"])]);
  expect(pending(second)).toEqual(["one"]);
  second.removeFiles([{ path: "z.md", source: "memory" }]);
  expect(pending(store), "what another store takes out changes nothing here").toEqual(["three"]);
  second.replaceFiles([fileOf("z.md", ["one"])]);
  embed(second, space, "one");
  expect(store.vectorOf(space, sha256("one"))).toBeDefined();
  store.close();
  second.close();
});

test("what another store has of the same text neither keeps it nor refuses it", async () => {
  const path = tempPath();
  const store = await withAdopted(path);
  const second = openHere(path, { store: "second" });
  second.replaceFiles([fileOf("z.md", ["one"])]);
  second.quarantine(space, [{ hash: sha256("one"), reason: "refused there" }]);
  expect(second.quarantined(space, 9)).toHaveLength(1);
  expect(store.quarantined(space, 9)).toEqual([]);
  const all = { sources: ["memory"], scope: { within: [""], without: [] } };
  for (const within of [undefined, all])
    expect(store.spaceStats(space, within)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
  second.releaseQuarantine(space);
  store.removeFiles([file]);
  store.replaceFiles([fileOf("a.md", ["one"])]);
  expect(pending(store).toSorted()).toEqual(["one", "three"]);
  store.close();
  second.close();
});

test("upkeep finds nothing wrong with it, eviction and a reopen leave it", async () => {
  const path = tempPath();
  (await withAdopted(path)).close();
  const store = openHere(path, { cacheMaxEntries: 0 });
  embed(store, spaceOf("other"), "nobody's");
  while (await store.tidy());
  expect((await findingsOf(store.repair())).filter(({ ok, fixed }) => !ok || fixed !== undefined)).toEqual([]);
  await findingsOf(store.compact());
  expect(store.knownVectors(space, [sha256("one")])).toHaveLength(1);
  store.close();
  edit(path, (db) => db.exec("INSERT INTO adopted_vectors VALUES ('x', 'one', 77)"));
  const again = openHere(path);
  const leftovers = (await findingsOf(again.check())).find(({ name }) => name === "leftovers");
  expect(leftovers).toMatchObject({ ok: false, message: "1 notes about vectors of no space" });
  expect((await findingsOf(again.repair())).every(({ ok }) => ok)).toBe(true);
  again.close();
});
