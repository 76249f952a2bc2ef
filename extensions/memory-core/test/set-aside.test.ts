import { existsSync, readFileSync } from "node:fs";
import { readdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { fileIdentity, findSidecars, removeSidecars, setAside } from "../src/set-aside.ts";
import { tempFolder } from "./support/stores.ts";

async function threeFiles(): Promise<string> {
  const path = `${await tempFolder()}/main.sqlite`;
  for (const suffix of ["", "-wal", "-shm"]) await writeFile(path + suffix, `content${suffix}`);
  return path;
}

test("a damaged file is renamed with the two beside it, each time to a name that is free", async () => {
  const path = await threeFiles();
  const first = setAside(path, fileIdentity(path)) ?? "";
  expect(first).toMatch(/main\.sqlite\.corrupt-\d{8}T\d{6}Z$/u);
  expect(["", "-wal", "-shm"].map((suffix) => readFileSync(first + suffix, "utf8"))).toEqual([
    "content",
    "content-wal",
    "content-shm",
  ]);
  await writeFile(path, "again");
  const second = setAside(path, fileIdentity(path)) ?? "";
  expect([readFileSync(first, "utf8"), readFileSync(second, "utf8")]).toEqual(["content", "again"]);
  expect(await readdir(dirname(path))).toHaveLength(4);
});

test("a file that is no longer the one that was found damaged stays where it is", async () => {
  const path = await threeFiles();
  const identity = fileIdentity(path);
  expect(setAside(path, identity)).toBeDefined();
  await writeFile(path, "made anew by another process");
  expect(setAside(path, identity)).toBeUndefined();
  expect(setAside(path, undefined)).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe("made anew by another process");
});

test("only those files beside a database are deleted that were seen there before", async () => {
  const path = await threeFiles();
  const seen = findSidecars(path);
  await rename(`${path}-wal`, `${path}-kept`);
  await writeFile(`${path}-wal`, "of a new database");
  removeSidecars(path, seen);
  expect([existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([true, false]);
});
