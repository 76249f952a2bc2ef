import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "@memslot/indexing/ledger";
import { startChild } from "../../test/support/child.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { fileOf, open, sha256, spaceOf, spoil, tempPath, vectorOf } from "./test/ledgers.ts";

const space = spaceOf("m");

test("what is owed, noted and built outlives a process that is killed", async () => {
  const path = tempPath();
  const child = startChild(new URL("./test/owe-and-wait.ts", import.meta.url), [path]);
  expect(await child.ask("go")).toBe("done");
  await child.kill();
  const ledger = await open(path);
  expect(await ledger.owedVectors(9)).toEqual({
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

test("a build that another process has begun can be finished without being begun again", async () => {
  const path = tempPath();
  const first = await open(path);
  await (await first.startBuild("v2")).replaceFiles([fileOf("new.md", ["new"])]);
  const second = await open(path);
  expect((await second.currentBuild())?.name).toBe("v2");
  await second.finishBuild();
  expect(await first.listFiles()).toHaveLength(1);
  await expect(first.finishBuild()).rejects.toThrow(/start it again/u);
});

test("notes are those of the store, and can be forgotten", async () => {
  const path = tempPath();
  const [one, two] = [await open(path), await open(path, { store: "two" })];
  await one.note("seen", "1");
  expect([await one.noted("seen"), await two.noted("seen"), await one.noted("other")]).toEqual([
    "1",
    undefined,
    undefined,
  ]);
  await one.note("seen", "2");
  expect(await one.noted("seen")).toBe("2");
  await one.note("seen", undefined);
  expect(await one.noted("seen")).toBeUndefined();
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
  expect(again.health().notices).toEqual([expect.stringMatching(/was damaged .* is made anew/u)]);
  expect(await again.listFiles()).toEqual([]);
  expect([await again.noted("seen"), await again.owedVectors(9)]).toEqual([undefined, undefined]);
  const file = { path: "a.md", source: "memory", hash: sha256("x"), recipe: "1", embedded: [space] };
  expect(await again.reconcile([file])).toEqual({ lost: [], unknown: [file] });
  await again.oweVectors(space);
  await again.replaceFiles([fileOf("a.md", texts)]);
  expect(await again.pendingVectors(space, 9)).toEqual([]);
  expect((await again.owedVectors(1000))?.entries).toHaveLength(400);
});

test("where no file can be used the ledger is kept in memory, and does all the same", async () => {
  const path = join(tempFolder(), "main.sqlite");
  writeFileSync(path, "somebody's notes\n".repeat(20));
  const ledger = await open(path);
  expect(ledger.health()).toMatchObject({ location: ":memory:", isTemporary: true });
  await ledger.replaceFiles([fileOf("a.md", ["one"])]);
  await ledger.putVectors(space, [{ hash: sha256("one"), vector: vectorOf("one") }]);
  expect((await ledger.owedVectors(9))?.entries).toHaveLength(1);
  await ledger.note("seen", "1");
  expect(await ledger.noted("seen")).toBe("1");
  await (await ledger.startBuild("v2")).replaceFiles([fileOf("b.md", ["two"])]);
  await ledger.finishBuild();
  expect(await ledger.reconcile([])).toEqual({ lost: [{ path: "b.md", source: "memory" }], unknown: [] });
});

test("whoever only looks makes no file", async () => {
  const path = tempPath();
  const ledger = await openLedger({ store: "one", path, mayCreate: false, cacheMaxEntries: 10 });
  expect(await ledger.listFiles()).toEqual([]);
  expect(ledger.health().fts.enabled).toBe(false);
  await ledger.close();
  expect(existsSync(path)).toBe(false);
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
