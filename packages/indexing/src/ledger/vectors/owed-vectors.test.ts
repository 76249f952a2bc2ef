import { expect, test } from "vitest";
import type { OpenedStore } from "../database/database-store.ts";
import { embed, fileOf, openHere, sha256, spaceOf, tempPath, vectorOf } from "../test/ledgers.ts";

const space = spaceOf("m");
const other = spaceOf("other", 4);

/** The texts of these whose vectors are owed in the batch that is next. */
function owedTexts(store: OpenedStore, ...texts: string[]): string[] {
  const batch = store.owedVectors(100);
  return texts.filter((text) => batch?.entries.some(({ hash }) => hash === sha256(text)));
}

function pay(store: OpenedStore): number {
  let count = 0;
  for (let batch = store.owedVectors(2); batch; batch = store.owedVectors(2)) {
    count += batch.entries.length;
    store.paidVectors(
      batch.space,
      batch.entries.map(({ hash }) => hash),
    );
  }
  return count;
}

test("what is embedded is owed with its numbers until it is paid, and not again", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  expect(store.owedVectors(10)).toBeUndefined();
  embed(store, space, "one", "two");
  embed(store, space, "nobody's");
  const batch = store.owedVectors(10);
  expect(batch?.space).toEqual(space);
  expect(batch?.entries.toSorted((left, right) => left.hash.localeCompare(right.hash))).toEqual(
    ["one", "two"]
      .map((text) => ({ hash: sha256(text), vector: vectorOf(text) }))
      .toSorted((left, right) => left.hash.localeCompare(right.hash)),
  );
  store.paidVectors(space, [sha256("one")]);
  expect(owedTexts(store, "one", "two")).toEqual(["two"]);
  expect(pay(store)).toBe(1);
  store.oweVectors(space);
  expect(store.owedVectors(10), "noted before").toBeUndefined();
  store.close();
});

test("a space that begins to be wanted owes what is there, of this store alone", async () => {
  const path = tempPath();
  const first = openHere(path, { store: "first" });
  first.replaceFiles([fileOf("a.md", ["one", "shared"])]);
  embed(first, space, "one", "shared");
  const second = openHere(path, { store: "second" });
  second.replaceFiles([fileOf("b.md", ["shared", "late"])]);
  expect(second.owedVectors(10)).toBeUndefined();
  second.oweVectors(space);
  expect(owedTexts(second, "one", "shared", "late")).toEqual(["shared"]);
  embed(first, space, "late");
  expect(owedTexts(second, "shared", "late"), "a store that is not told of it asks its own ledger").toEqual(["shared"]);
  expect(pay(first)).toBe(2);
  expect(owedTexts(second, "shared")).toEqual(["shared"]);
  first.close();
  second.close();
});

test("a chunk that is written is owed its vector once more, also in a build", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one"])]);
  embed(store, space, "one");
  pay(store);
  store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  expect(owedTexts(store, "one", "two")).toEqual(["one"]);
  pay(store);
  const build = store.buildStart("v2");
  store.nextReplaceFiles(build, [fileOf("a.md", ["one", "new"])]);
  expect(owedTexts(store, "one", "new")).toEqual(["one"]);
  embed(store, space, "new");
  expect(owedTexts(store, "one", "new")).toEqual(["one", "new"]);
  store.buildAbandon();
  expect(owedTexts(store, "one", "new"), "the text is in no build any more").toEqual(["one"]);
  store.close();
});

test("what is gone, text or vector, is not owed any more", async () => {
  const path = tempPath();
  const store = openHere(path, { cacheMaxEntries: 0 });
  store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  embed(store, space, "one", "two", "three");
  store.removeFiles([{ path: "b.md", source: "memory" }]);
  expect(pay(store)).toBe(2);
  embed(store, other, "one");
  store.close();
  const again = openHere(path, { cacheMaxEntries: 0 });
  embed(again, space, "two");
  while (await again.tidy());
  expect(again.knownVectors(other, [sha256("one")]), "evicted: the space is in no use").toEqual([]);
  expect(again.owedVectors(10)).toMatchObject({ space, entries: [{ hash: sha256("two") }] });
  expect(pay(again)).toBe(1);
  again.close();
});

test("the space that was written to last comes first, each in batches of its own", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  embed(store, space, "one", "two", "three");
  embed(store, other, "one");
  const order: string[] = [];
  for (let batch = store.owedVectors(2); batch; batch = store.owedVectors(2)) {
    order.push(`${batch.space.model} ${batch.entries.length}`);
    store.paidVectors(
      batch.space,
      batch.entries.map(({ hash }) => hash),
    );
  }
  expect(order).toEqual(["other 1", "m 2", "m 1"]);
  store.close();
});

test("a store that keeps its vectors in the ledger is owed none", async () => {
  const store = openHere(tempPath(), { owesVectors: false });
  store.replaceFiles([fileOf("a.md", ["one"])]);
  embed(store, space, "one");
  store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  expect(store.owedVectors(10)).toBeUndefined();
  store.close();
});
