import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startChild } from "../../test/support/child.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { edit, embed, fileOf, open, openHere, sha256, spaceOf, spoil, tempPath, vectorOf } from "./test/ledgers.ts";
import type { OpenedStore } from "./database-store.ts";

import data from "./test/open-ledger.json" with { type: "json" };

const space = spaceOf("m");

test("what is owed, noted and built outlives a process that is killed", async () => {
  const path = tempPath();
  const child = startChild(new URL("./test/ledger-process.ts", import.meta.url), [path]);
  expect(await child.ask("owe")).toBe("done");
  await child.kill();
  const ledger = await open(path);
  expect(await ledger.unacknowledgedVectors(9)).toEqual({
    space,
    entries: [{ hash: sha256("two"), vector: vectorOf("two") }],
  });
  expect(await ledger.noted("revision")).toBe("7");
  const current = await ledger.currentBuild();
  expect(current).toMatchObject({ name: "v2", table: { build: expect.any(Number) as number } });
  expect((await current?.table.listFiles())?.map(({ path: name }) => name)).toEqual(["b.md"]);
  expect((await ledger.startBuild("v2")).build).toBe(current?.table.build);
  await ledger.finishBuild();
  expect((await ledger.listFiles()).map(({ path: name }) => name)).toEqual(["b.md"]);
  expect(await ledger.currentBuild()).toBeUndefined();
});

test("a damaged ledger is set aside, keeps its vectors, and owes them when the store wants them again", async () => {
  const path = tempPath();
  const first = await open(path);
  const texts = Array.from({ length: 400 }, (_, index) => `text ${index} ${"and more ".repeat(100)}`);
  await first.replaceFiles([fileOf("a.md", texts)]);
  await first.putVectors(
    space,
    texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text) })),
  );
  await first.note("seen", "1");
  await first.close();
  spoil(path, "chunks");
  const again = await open(path);
  await again.listFiles();
  expect(again.health().notices).toEqual([expect.stringMatching(/was damaged .* is rebuilt/u)]);
  expect(await again.listFiles()).toEqual([]);
  expect([await again.noted("seen"), await again.unacknowledgedVectors(9)]).toEqual([undefined, undefined]);
  const file = { path: "a.md", source: "memory", hash: sha256("x"), recipe: "1", embedded: [space] };
  expect(await again.reconcile([file])).toEqual({ lost: [], unknown: [file] });
  await again.requestVectors(space);
  await again.replaceFiles([fileOf("a.md", texts)]);
  expect(await again.pendingVectors(space, 9)).toEqual([]);
  expect((await again.unacknowledgedVectors(1000))?.entries).toHaveLength(400);
});

test("where no file can be used the ledger is kept in memory, and does all the same", async () => {
  const path = join(tempFolder(), "main.sqlite");
  writeFileSync(path, "other notes\n".repeat(20));
  const ledger = await open(path);
  expect(ledger.health()).toMatchObject({ location: ":memory:", isTemporary: true });
  await ledger.replaceFiles([fileOf("a.md", ["one"])]);
  await ledger.putVectors(space, [{ hash: sha256("one"), vector: vectorOf("one") }]);
  expect((await ledger.unacknowledgedVectors(9))?.entries).toHaveLength(1);
  await ledger.note("seen", "1");
  expect(await ledger.noted("seen")).toBe("1");
  await (await ledger.startBuild("v2")).replaceFiles([fileOf("b.md", ["two"])]);
  await ledger.finishBuild();
  expect(await ledger.reconcile([])).toEqual({ lost: [{ path: "b.md", source: "memory" }], unknown: [] });
});

test("leases are those of the store", async () => {
  const path = tempPath();
  const locksDir = tempFolder();
  const [one, again, two] = [
    await open(path, { locksDir }),
    await open(path, { locksDir }),
    await open(path, { locksDir, store: "two" }),
  ];
  expect(await one.leases?.acquire("build", "rebuild")).toBe(true);
  expect(await again.leases?.acquire("build", "rebuild")).toBe(false);
  expect(await two.leases?.acquire("build", "of its own")).toBe(true);
  expect(await again.leases?.holder("build")).toMatchObject({ reason: "rebuild" });
});

describe("two stores in one file", () => {
  const space = spaceOf("m");

  async function bothIn(path: string): Promise<{ one: OpenedStore; two: OpenedStore }> {
    return { one: openHere(path, { store: "one" }), two: openHere(path, { store: "two" }) };
  }

  const names = (store: OpenedStore): string[] => store.listFiles().map(({ path }) => path);

  test("a rebuild of one leaves the other alone, with a build of its own of the same name", async () => {
    const path = tempPath();
    const { one, two } = await bothIn(path);
    one.replaceFiles([fileOf("a.md", ["old one"])]);
    two.replaceFiles([fileOf("a.md", ["old two"])]);
    const [first, second] = [one.startBuild("v2"), two.startBuild("v2")];
    expect(first).not.toBe(second);
    one.replaceFiles([fileOf("new.md", ["new one"])], first);
    two.replaceFiles([fileOf("half.md", ["half"])], second);
    one.finishBuild();
    while (await one.tidy());
    expect([names(one), names(two)]).toEqual([["new.md"], ["a.md"]]);
    expect(two.stats().generation?.next).toMatchObject({ id: second, files: 1 });
    expect(() => one.listFiles(second), "the build of another store").toThrow(/start it again/u);
    two.abandonBuild();
    expect(one.stats().generation?.next).toBeUndefined();
    one.close();
    expect(
      edit(path, (db) => db.prepare("SELECT DISTINCT store FROM generations WHERE state = 'dropped'").pluck().all()),
      "what one has dropped is gone, what two has dropped is left to it",
    ).toEqual(["two"]);
    while (await two.tidy());
    expect(edit(path, (db) => db.prepare("SELECT count(*) FROM files").pluck().get())).toBe(2);
  });

  test("a file with unknown builds is not taken for that of a new store", async () => {
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
  });
});

describe("a cache of vectors that is too large", () => {
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
});

test("chunks that a store has found rows are given in the order in which they were found, of the build that answers, and strange ones left out", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("a.md", ["one"], "sessions")]);
  const found = (path: string, text: string, startLine: number, score: number, source = "memory") => ({
    path,
    source,
    startLine,
    hash: sha256(text),
    score,
  });
  const rows = store.rowsOf([
    found("a.md", "two", 2, 3),
    found("a.md", "two", 1, 2.5),
    found("b.md", "one", 1, 2.4),
    found("a.md", "changed", 1, 2),
    found("a.md", "one", 1, 1, "sessions"),
    found("a.md", "one", 1, 0.5),
  ]);
  expect(
    rows.map(({ source, startLine, endLine, text, context, score }) => [
      source,
      startLine,
      endLine,
      text,
      context,
      score,
    ]),
  ).toEqual(data.foundRows);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(3);
  store.replaceFiles([fileOf("a.md", ["new"])], store.startBuild("v2"));
  expect(store.rowsOf([found("a.md", "new", 1, 1)])).toEqual([]);
  store.finishBuild();
  expect(store.rowsOf([found("a.md", "new", 1, 1), found("a.md", "two", 2, 1)])).toMatchObject([{ text: "new" }]);
});
