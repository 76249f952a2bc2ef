import { expect, test } from "vitest";
import type { OpenedStore } from "../database/database-store.ts";
import { edit, embed, fileOf, findingsOf, openHere, sha256, spaceOf, tempPath, vectorOf } from "../test/ledgers.ts";

const space = spaceOf("m");

async function bothIn(path: string): Promise<{ one: OpenedStore; two: OpenedStore }> {
  return { one: openHere(path, { store: "one" }), two: openHere(path, { store: "two" }) };
}

const names = (store: OpenedStore): string[] => store.listFiles().map(({ path }) => path);

test("two stores in one file have files of their own, with the same paths too", async () => {
  const { one, two } = await bothIn(tempPath());
  one.replaceFiles([fileOf("a.md", ["first"]), fileOf("b.md", ["only one"])]);
  expect(names(two)).toEqual([]);
  const before = one.revision();
  two.replaceFiles([fileOf("a.md", ["second", "third"])]);
  two.removeFiles([{ path: "b.md", source: "memory" }]);
  expect([names(one), names(two)]).toEqual([["a.md", "b.md"], ["a.md"]]);
  expect([one.stats(), two.stats()]).toMatchObject([
    { files: 2, chunks: 2 },
    { files: 1, chunks: 2 },
  ]);
  expect([one.sample(9), two.sample(9)].map((rows) => rows.map(({ text }) => text).toSorted())).toEqual([
    ["first", "only one"],
    ["second", "third"],
  ]);
  expect(one.revision(), "what the other one writes changes nothing here").toBe(before);
  one.close();
  two.close();
});

test("vectors are for all of them, and only what a store lacks is pending in it", async () => {
  const { one, two } = await bothIn(tempPath());
  one.replaceFiles([fileOf("a.md", ["shared", "of one"])]);
  two.replaceFiles([fileOf("z.md", ["shared", "of two"])]);
  embed(one, space, "shared", "of one");
  expect(two.pendingVectors(space, 9).map(({ text }) => text)).toEqual(["of two"]);
  expect(two.spaceStats(space)).toMatchObject({ embedded: 1, pending: 1 });
  expect(one.spaceStats(space)).toMatchObject({ embedded: 2, pending: 0 });
  one.close();
  two.close();
});

test("a vector stays while a chunk of any store has its text", async () => {
  const path = tempPath();
  const { one, two } = await bothIn(path);
  one.replaceFiles([fileOf("a.md", ["shared"])]);
  two.replaceFiles([fileOf("z.md", ["shared"])]);
  embed(one, space, "shared");
  one.removeFiles([{ path: "a.md", source: "memory" }]);
  one.close();
  two.close();
  const small = openHere(path, { store: "one", cacheMaxEntries: 0 });
  small.putVectors(space, [{ hash: sha256("nobody's"), vector: vectorOf("x") }]);
  while (await small.tidy());
  expect(small.knownVectors(space, [sha256("shared"), sha256("nobody's")])).toEqual([sha256("shared")]);
  small.close();
});

test("a rebuild of one leaves the other alone, with a build of its own of the same name", async () => {
  const path = tempPath();
  const { one, two } = await bothIn(path);
  one.replaceFiles([fileOf("a.md", ["old one"])]);
  two.replaceFiles([fileOf("a.md", ["old two"])]);
  const [first, second] = [one.buildStart("v2"), two.buildStart("v2")];
  expect(first).not.toBe(second);
  one.nextReplaceFiles(first, [fileOf("new.md", ["new one"])]);
  two.nextReplaceFiles(second, [fileOf("half.md", ["half"])]);
  one.buildFinish();
  while (await one.tidy());
  expect([names(one), names(two)]).toEqual([["new.md"], ["a.md"]]);
  expect(two.stats().generation?.next).toMatchObject({ id: second, files: 1 });
  expect(() => one.nextListFiles(second), "the build of another store").toThrow(/start it again/u);
  two.buildAbandon();
  expect(one.stats().generation?.next).toBeUndefined();
  one.close();
  expect(
    edit(path, (db) => db.prepare("SELECT DISTINCT store FROM generations WHERE state = 'dropped'").pluck().all()),
    "what one has dropped is gone, what two has dropped is left to it",
  ).toEqual(["two"]);
  while (await two.tidy());
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM files").pluck().get())).toBe(2);
  two.close();
});

test("damage to the files of one is mended in one alone", async () => {
  const path = tempPath();
  const { one, two } = await bothIn(path);
  one.replaceFiles([fileOf("a.md", ["one", "more"])]);
  two.replaceFiles([fileOf("a.md", ["two", "more"])]);
  one.close();
  two.close();
  edit(path, (db) => db.exec("DELETE FROM chunks WHERE text = 'one'"));
  const again = await bothIn(path);
  const finding = async (store: OpenedStore): Promise<unknown> =>
    (await findingsOf(store.check())).find(({ name }) => name === "files");
  expect(await finding(again.one)).toMatchObject({ ok: false });
  expect(await finding(again.two)).toMatchObject({ ok: true });
  again.one.close();
  again.two.close();
});

test("a file whose builds nobody knows any more is not taken for that of a new store", async () => {
  const path = tempPath();
  const one = openHere(path, { store: "one" });
  one.replaceFiles([fileOf("a.md", ["text"])]);
  embed(one, space, "text");
  one.close();
  edit(path, (db) => db.exec("DELETE FROM generations"));
  const again = openHere(path, { store: "one" });
  expect(again.health().notices).toEqual([expect.stringMatching(/0 builds of it are marked/u)]);
  expect(again.listFiles()).toEqual([]);
  expect(again.knownVectors(space, [sha256("text")]), "vectors are taken along").toHaveLength(1);
  again.close();
});
