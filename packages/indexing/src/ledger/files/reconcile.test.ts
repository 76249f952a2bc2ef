import { expect, test } from "vitest";
import type { StoredFile } from "../../chunk-store.ts";
import { embed, fileOf, openHere, sha256, spaceOf, tempPath } from "../test/ledgers.ts";

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
  expect(found.lost).toEqual([
    { path: "gone.md", source: "memory" },
    { path: "changed.md", source: "memory" },
    { path: "recut.md", source: "memory" },
    { path: "same.md", source: "sessions" },
  ]);
  expect(found.unknown).toEqual([changed, recut, strange]);
  expect(store.listFiles().map(({ path, source }) => `${source} ${path}`)).toEqual(["memory same.md"]);
  expect(store.stats().chunks).toBe(1);
  expect(store.revision()).not.toBe(before);
  const after = store.revision();
  expect(store.reconcile([heldOf("same.md", ["same"])])).toEqual({ lost: [], unknown: [] });
  expect(store.revision(), "nothing has changed").toBe(after);
  store.close();
});

test("a build is compared by its number, and the one that answers stays as it is", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["old"])]);
  const build = store.buildStart("v2");
  store.nextReplaceFiles(build, [fileOf("a.md", ["new"]), fileOf("b.md", ["b"])]);
  expect(store.reconcile([heldOf("b.md", ["b"])], build).lost).toEqual([{ path: "a.md", source: "memory" }]);
  expect(store.nextListFiles(build)).toHaveLength(1);
  expect(store.listFiles()).toHaveLength(1);
  store.buildAbandon();
  expect(() => store.reconcile([], build)).toThrow(/start it again/u);
  store.close();
});

test("vectors that the store has lost are owed again, those of another host are adopted", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"]), fileOf("c.md", ["four", "five"])]);
  embed(store, space, "one", "two", "four");
  store.paidVectors(space, ["one", "two", "four"].map(sha256));
  const held = (embedded: StoredFile["embedded"]): StoredFile[] => [
    heldOf("a.md", ["one", "two"], { embedded }),
    heldOf("b.md", ["three"], { embedded: [space, elsewhere] }),
    heldOf("c.md", ["four", "five"], { embedded: [] }),
  ];
  store.reconcile(held([space]));
  expect(store.owedVectors(9), "a.md is whole there, c.md is not whole here").toBeUndefined();
  expect(store.knownVectors(space, [sha256("three")])).toHaveLength(1);
  expect(store.spaceStats(elsewhere)).toMatchObject({ embedded: 1, pending: 4 });
  store.reconcile(held([]));
  expect(
    store
      .owedVectors(9)
      ?.entries.map(({ hash }) => hash)
      .toSorted(),
  ).toEqual(["one", "two"].map(sha256).toSorted());
  store.close();
});

test("what was adopted and is not there after all is pending again", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "shared"]), fileOf("b.md", ["shared"])]);
  store.oweVectors(space);
  const held = (a: StoredFile["embedded"]): StoredFile[] => [
    heldOf("a.md", ["one", "shared"], { embedded: a }),
    heldOf("b.md", ["shared"], { embedded: [space] }),
  ];
  store.reconcile(held([space]));
  expect(store.pendingVectors(space, 9)).toEqual([]);
  store.reconcile(held([]));
  expect(store.pendingVectors(space, 9).map(({ text }) => text)).toEqual(["one"]);
  store.close();
});

test("without a word about vectors nothing is adopted or owed", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one"])]);
  embed(store, space, "one");
  store.paidVectors(space, [sha256("one")]);
  store.reconcile([heldOf("a.md", ["one"])]);
  expect(store.owedVectors(9)).toBeUndefined();
  store.close();
});

test("a thousand files are compared in one call", async () => {
  const store = openHere(tempPath());
  const paths = Array.from({ length: 1000 }, (_, index) => `${index}.md`);
  const texts = (path: string): string[] => Array.from({ length: 8 }, (_, index) => `${path} ${index}`);
  store.replaceFiles(paths.map((path) => fileOf(path, texts(path))));
  store.oweVectors(space);
  const held = paths.slice(1).map((path) => heldOf(path, texts(path), { embedded: [space] }));
  expect(store.reconcile(held)).toEqual({ lost: [{ path: "0.md", source: "memory" }], unknown: [] });
  expect(store.spaceStats(space)).toEqual({ embedded: 7992, pending: 0, quarantined: 0 });
  store.close();
});
