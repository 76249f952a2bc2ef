import { once } from "node:events";
import { existsSync, linkSync, readFileSync } from "node:fs";
import { readdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { fileIdentity, findSidecars, removeSidecars, setAside } from "./set-aside.ts";
import { tempFolder } from "@memslot/test-tools/files";

async function threeFiles(): Promise<string> {
  const path = `${tempFolder()}/main.sqlite`;
  for (const suffix of ["", "-wal", "-shm"]) await writeFile(path + suffix, `content${suffix}`);
  return path;
}

test("a damaged file is renamed with the two beside it, each time to a name that is free", async () => {
  const path = await threeFiles();
  const first = setAside(path, fileIdentity(path)) ?? "";
  expect(first).toMatch(/main\.sqlite\.corrupt-\d+$/u);
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

test("of several processes that find the same damage one renames it, and a new file stays where it is", async () => {
  const path = await threeFiles();
  const identity = fileIdentity(path);
  // Another process has made the second name and is about to take the first away.
  linkSync(path, `${path}.corrupt-${identity?.split(":")[1]}`);
  const made = `${path}.made`;
  await writeFile(made, "new");
  const other = new Worker(
    `const fs = require("node:fs"); setTimeout(() => fs.renameSync(${JSON.stringify(made)}, ${JSON.stringify(path)}), 100);`,
    { eval: true },
  );
  await once(other, "online");
  expect(setAside(path, identity)).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe("new");
  await other.terminate();
});

test("a renaming that was cut short by a crash is finished", async () => {
  const path = await threeFiles();
  const identity = fileIdentity(path);
  linkSync(path, `${path}.corrupt-${identity?.split(":")[1]}`);
  expect(setAside(path, identity)).toBe(`${path}.corrupt-${identity?.split(":")[1]}`);
  expect(existsSync(path)).toBe(false);
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
