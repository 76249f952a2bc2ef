import { existsSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { fileOf, find, open, openWith, tempPath, runChild, expectIntegrity } from "./test/stores.ts";

test("processes that write at the same time wait for each other, from the making of the file on", async () => {
  const path = await tempPath();
  const children = ["p", "q", "r"].map((prefix) => runChild(["write-files", path, prefix, "12"]));
  for (const child of children) {
    expect(await child.ended, child.output()).toBe(0);
    expect(child.output()).toBe(`open ${path}\nwrote\ndone\n`);
  }
  const store = await open(path);
  expect(store.health().notices).toEqual([]);
  expect(await store.listFiles()).toHaveLength(60);
  expect((await store.stats()).chunks).toBe(600);
  for (const prefix of ["p", "q", "r"]) expect(await find(store, prefix)).toHaveLength(50);
  expect(await find(store, "batch3")).toEqual([]);
  await store.close();
  expectIntegrity(path);
});

test("two stores on one file in one process do not loosen each other's locks", async () => {
  const { path, store: first } = await openWith([fileOf("a.md", ["first"])]);
  const second = await open(path);
  await second.close();
  // A process that believes itself the last one would take the log along with it.
  const child = runChild(["open-and-print", path]);
  expect(await child.ended, child.output()).toBe(0);
  expect(existsSync(`${path}-wal`)).toBe(true);
  await first.replaceFiles([fileOf("b.md", ["second"])]);
  const after = runChild(["open-and-print", path]);
  expect(await after.ended, after.output()).toBe(0);
  expect(JSON.parse(after.output())).toMatchObject({ files: ["a.md", "b.md"], notices: [] });
});

test("the log does not stay large after a large write", async () => {
  const path = await tempPath();
  const store = await open(path);
  for (let round = 0; round < 6; round++) {
    await store.replaceFiles(
      Array.from({ length: 100 }, (_, index) => fileOf(`${round}-${index}.md`, ["x".repeat(60_000)])),
    );
  }
  await store.replaceFiles([fileOf("last.md", ["word"])]);
  expect(statSync(path).size).toBeGreaterThan(30_000_000);
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});
