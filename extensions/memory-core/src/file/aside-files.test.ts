import { readdirSync, readFileSync } from "node:fs";
import { truncate, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import { fileOf, find, open, tempPath } from "../test/stores.ts";

async function damaged(path: string): Promise<void> {
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await store.close();
  await truncate(path, 50);
}

const asideOf = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.corrupt-`));

test("of damaged files only the last is kept, and files that somebody else has named so are", async () => {
  const path = await tempPath();
  await damaged(path);
  await writeFile(`${path}.corrupt-2024`, "mine");
  await writeFile(`${path}.corrupt-backup`, "mine too");
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const store = await open(path);
    const notice = store.health().notices[0] ?? "";
    await store.close();
    const ours = asideOf(path).filter((name) => !name.endsWith("-2024") && !name.endsWith("-backup"));
    expect(ours).toHaveLength(1);
    expect(notice).toContain(ours[0]);
    seen.add(ours[0] ?? "");
    await writeFile(`${dirname(path)}/${ours[0]}-wal`, "its log");
    await damaged(path);
  }
  expect(seen.size).toBeGreaterThan(1);
  expect(readFileSync(`${path}.corrupt-2024`, "utf8")).toBe("mine");
  expect(readFileSync(`${path}.corrupt-backup`, "utf8")).toBe("mine too");
});

test("where somebody only looks, a damaged file stays where it is", async () => {
  const path = await tempPath();
  await damaged(path);
  const before = readFileSync(path);
  const looking = await open(path, { mayCreate: false });
  const { location, notices } = looking.health();
  expect(location).toBe(":memory:");
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/is damaged .*next sync/u);
  expect(await looking.listFiles()).toEqual([]);
  await looking.close();
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(dirname(path))).toEqual([basename(path), `${basename(path)}-sum`]);
  const store = await open(path);
  expect(store.health().location).toBe(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  expect(await find(store, "word")).toEqual(["word"]);
});
