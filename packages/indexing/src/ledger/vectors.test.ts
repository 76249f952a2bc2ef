import { describe, expect, test } from "vitest";
import type { OpenedStore } from "./database-store.ts";
import { edit, embed, fileOf, openHere, sha256, spaceOf, tempPath, vectorOf } from "./test/ledgers.ts";
import type { StoredFile } from "../chunk-store.ts";

import data from "./test/vectors.json" with { type: "json" };

describe("vectors that are owed", () => {
  const space = spaceOf("m");
  const other = spaceOf("other", 4);

  /** The texts of these whose vectors are owed in the batch that is next. */
  function unacknowledgedTexts(store: OpenedStore, ...texts: string[]): string[] {
    const batch = store.unacknowledgedVectors(100);
    return texts.filter((text) => batch?.entries.some(({ hash }) => hash === sha256(text)));
  }

  function pay(store: OpenedStore): number {
    let count = 0;
    for (let batch = store.unacknowledgedVectors(2); batch; batch = store.unacknowledgedVectors(2)) {
      count += batch.entries.length;
      store.acknowledgeVectors(
        batch.space,
        batch.entries.map(({ hash }) => hash),
      );
    }
    return count;
  }

  test("what is embedded is owed with its numbers until it is paid, and not again", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
    expect(store.unacknowledgedVectors(10)).toBeUndefined();
    embed(store, space, "one", "two");
    embed(store, space, "unused");
    const batch = store.unacknowledgedVectors(10);
    expect(batch?.space).toEqual(space);
    expect(batch?.entries.toSorted((left, right) => left.hash.localeCompare(right.hash))).toEqual(
      ["one", "two"]
        .map((text) => ({ hash: sha256(text), vector: vectorOf(text) }))
        .toSorted((left, right) => left.hash.localeCompare(right.hash)),
    );
    store.acknowledgeVectors(space, [sha256("one")]);
    expect(unacknowledgedTexts(store, "one", "two")).toEqual(["two"]);
    expect(pay(store)).toBe(1);
    store.requestVectors(space);
    expect(store.unacknowledgedVectors(10), "noted before").toBeUndefined();
  });

  test("a space that begins to be wanted owes what is there, of this store alone", async () => {
    const path = tempPath();
    const first = openHere(path, { store: "first" });
    first.replaceFiles([fileOf("a.md", ["one", "shared"])]);
    embed(first, space, "one", "shared");
    const second = openHere(path, { store: "second" });
    second.replaceFiles([fileOf("b.md", ["shared", "late"])]);
    expect(second.unacknowledgedVectors(10)).toBeUndefined();
    second.requestVectors(space);
    expect(unacknowledgedTexts(second, "one", "shared", "late")).toEqual(["shared"]);
    embed(first, space, "late");
    expect(unacknowledgedTexts(second, "shared", "late"), "a store that is not told of it asks its own ledger").toEqual(
      ["shared"],
    );
    expect(pay(first)).toBe(2);
    expect(unacknowledgedTexts(second, "shared")).toEqual(["shared"]);
  });

  test("a chunk that is written is owed its vector once more, also in a build", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([fileOf("a.md", ["one"])]);
    embed(store, space, "one");
    pay(store);
    store.replaceFiles([fileOf("a.md", ["one", "two"])]);
    expect(unacknowledgedTexts(store, "one", "two")).toEqual(["one"]);
    pay(store);
    const build = store.startBuild("v2");
    store.replaceFiles([fileOf("a.md", ["one", "new"])], build);
    expect(unacknowledgedTexts(store, "one", "new")).toEqual(["one"]);
    embed(store, space, "new");
    expect(unacknowledgedTexts(store, "one", "new")).toEqual(["one", "new"]);
    store.abandonBuild();
    expect(unacknowledgedTexts(store, "one", "new"), "the text is in no build any more").toEqual(["one"]);
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
    expect(again.unacknowledgedVectors(10)).toMatchObject({ space, entries: [{ hash: sha256("two") }] });
    expect(pay(again)).toBe(1);
  });
});

describe("vectors of another host", () => {
  const space = spaceOf("m");
  const file = { path: "a.md", source: "memory" };

  async function withAdopted(path: string): Promise<OpenedStore> {
    const store = openHere(path);
    store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
    embed(store, space, "two");
    store.quarantine(space, [{ hash: sha256("one"), reason: "refused here" }]);
    store.importVectors(space, [file]);
    return store;
  }

  const pending = (store: OpenedStore): string[] => store.pendingVectors(space, 9).map(({ text }) => text);

  test("a file that is adopted counts as embedded, and nothing of it is owed or has numbers", async () => {
    const store = await withAdopted(tempPath());
    expect(pending(store)).toEqual(["three"]);
    expect(store.spaceStats(space)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
    const scope = { within: ["a.md"], without: [] };
    expect(store.spaceStats(space, { sources: ["memory"], scope })).toEqual(data.adopted);
    expect(store.knownVectors(space, ["one", "two", "three"].map(sha256))).toEqual(["one", "two"].map(sha256));
    expect(store.vectorOf(space, sha256("one"))).toBeUndefined();
    expect(store.vectorOf(space, sha256("two"))).toBeDefined();
    expect(store.unacknowledgedVectors(9)?.entries).toMatchObject([{ hash: sha256("two") }]);
    store.quarantine(space, [{ hash: sha256("one"), reason: "refused again" }]);
    expect(store.quarantined(space, 9)).toEqual([]);
    expect(store.stats().cachedVectors).toBe(1);
  });

  test("numbers take its place, and are owed", async () => {
    const path = tempPath();
    const store = await withAdopted(path);
    embed(store, space, "one");
    expect(store.vectorOf(space, sha256("one"))).toBeDefined();
    expect(store.spaceStats(space)).toEqual({ embedded: 2, pending: 1, quarantined: 0 });
    expect(store.unacknowledgedVectors(9)?.entries).toHaveLength(2);
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
  });
});

describe("files compared with those of the store", () => {
  const space = spaceOf("m");
  const elsewhere = spaceOf("elsewhere", 4);

  /** What a store says of a file that it holds as it was given. */
  function heldOf(path: string, texts: readonly string[], more: Partial<StoredFile> = {}): StoredFile {
    const { source, hash, recipe } = fileOf(path, texts);
    return { path, source, hash, recipe, ...more };
  }

  test("files that are the same on both sides stay, the others are forgotten or told", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([
      fileOf("same.md", ["same"]),
      fileOf("gone.md", ["gone"]),
      fileOf("changed.md", ["changed"]),
      fileOf("recut.md", ["recut"]),
      fileOf("same.md", ["of a session"], "sessions"),
    ]);
    const before = store.revision();
    const changed = heldOf("changed.md", ["other"]);
    const recut = heldOf("recut.md", ["recut"], { recipe: "2" });
    const strange = heldOf("strange.md", ["strange"]);
    const found = store.reconcile([heldOf("same.md", ["same"]), changed, recut, strange]);
    expect(found.lost).toEqual(data.lost);
    expect(found.unknown).toEqual([changed, recut, strange]);
    expect(store.listFiles().map(({ path, source }) => `${source} ${path}`)).toEqual(["memory same.md"]);
    expect(store.stats().chunks).toBe(1);
    expect(store.revision()).not.toBe(before);
    const after = store.revision();
    expect(store.reconcile([heldOf("same.md", ["same"])])).toEqual({ lost: [], unknown: [] });
    expect(store.revision(), "nothing has changed").toBe(after);
  });

  test("a build is compared by its number, and the one that answers stays as it is", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([fileOf("a.md", ["old"])]);
    const build = store.startBuild("v2");
    store.replaceFiles([fileOf("a.md", ["new"]), fileOf("b.md", ["b"])], build);
    expect(store.reconcile([heldOf("b.md", ["b"])], build).lost).toEqual([{ path: "a.md", source: "memory" }]);
    expect(store.listFiles(build)).toHaveLength(1);
    expect(store.listFiles()).toHaveLength(1);
    store.abandonBuild();
    expect(() => store.reconcile([], build)).toThrow(/start it again/u);
  });

  test("vectors that the store has lost are owed again, those of another host are adopted", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"]), fileOf("c.md", ["four", "five"])]);
    embed(store, space, "one", "two", "four");
    store.acknowledgeVectors(space, ["one", "two", "four"].map(sha256));
    const held = (embedded: StoredFile["embedded"]): StoredFile[] => [
      heldOf("a.md", ["one", "two"], { embedded }),
      heldOf("b.md", ["three"], { embedded: [space, elsewhere] }),
      heldOf("c.md", ["four", "five"], { embedded: [] }),
    ];
    store.reconcile(held([space]));
    expect(store.unacknowledgedVectors(9), "a.md is whole there, c.md is not whole here").toBeUndefined();
    expect(store.knownVectors(space, [sha256("three")])).toHaveLength(1);
    expect(store.spaceStats(elsewhere)).toMatchObject({ embedded: 1, pending: 4 });
    store.reconcile(held([]));
    expect(
      store
        .unacknowledgedVectors(9)
        ?.entries.map(({ hash }) => hash)
        .toSorted(),
    ).toEqual(["one", "two"].map(sha256).toSorted());
  });
});

describe("a sample of vectors", () => {
  const space = spaceOf("m");
  const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
  const lowest = texts.toSorted((a, b) => (sha256(a) < sha256(b) ? -1 : 1));

  test("a sample is of the chunks with the lowest hashes, each text once, with its vector", async () => {
    const store = openHere(tempPath());
    store.replaceFiles([fileOf("a.md", texts), fileOf("b.md", texts.slice(0, 5))]);
    embed(store, space, ...texts);
    const sample = store.sampleVectors(space, 7);
    expect(sample.map(({ text }) => text)).toEqual(lowest.slice(0, 7));
    expect(sample).toEqual(store.sampleVectors(space, 7));
    for (const { hash, text, vector } of sample)
      expect([hash, [...vector]]).toEqual([sha256(text), [...vectorOf(text)]]);
    expect(store.sampleVectors(space, 1000)).toHaveLength(texts.length);
  });

  test("only what answers and has a vector of this space is in it", async () => {
    const store = openHere(tempPath());
    expect(store.sampleVectors(space, 10)).toEqual([]);
    store.replaceFiles([fileOf("a.md", texts)]);
    embed(store, space, ...texts.slice(0, 3), "a text that no chunk has");
    const build = store.startBuild("next");
    store.replaceFiles([fileOf("a.md", ["of the next build"])], build);
    embed(store, space, "of the next build");
    expect(new Set(store.sampleVectors(space, 10).map(({ text }) => text))).toEqual(new Set(texts.slice(0, 3)));
    expect(store.sampleVectors(spaceOf("other"), 10)).toEqual([]);
    store.removeFiles([fileOf("a.md", texts)]);
    expect(store.sampleVectors(space, 10)).toEqual([]);
  });
});
