import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectFile } from "../src/inspect-file.ts";
import { schemaVersion } from "../src/schema.ts";
import { edit } from "./support/damage.ts";
import { open, tempFolder, tempPath } from "./support/stores.ts";

test("a file that is missing or empty is new", async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, "empty"), "");
  expect(inspectFile(join(folder, "missing"))).toEqual({ kind: "new" });
  expect(inspectFile(join(folder, "empty"))).toEqual({ kind: "new" });
});

test("a file that a store has made is ours, before and after it is closed", async () => {
  const path = await tempPath();
  const store = await open(path);
  expect(inspectFile(path)).toEqual({ kind: "ours" });
  await store.close();
  expect(inspectFile(path)).toEqual({ kind: "ours" });
});

test("whatever else stands there is foreign", async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, "notes.md"), "# Not a database\n".repeat(20));
  await writeFile(join(folder, "short.md"), "SQL");
  await writeFile(join(folder, "one.md"), "x");
  await mkdir(join(folder, "folder"));
  edit(join(folder, "other.sqlite"), (db) => db.exec("CREATE TABLE t (a)"));
  const kinds = ["notes.md", "one.md", "folder", "other.sqlite"].map((name) => inspectFile(join(folder, name)));
  expect(kinds.map(({ kind }) => kind)).toEqual(["foreign", "foreign", "foreign", "foreign"]);
  expect(kinds.map((finding) => ("reason" in finding ? finding.reason : ""))).toEqual([
    "it is not a SQLite database",
    "it is not a SQLite database",
    "it is a folder",
    "it is a SQLite database of another program",
  ]);
});

test("a database that ends before it says whose it is, is damaged", async () => {
  const path = await tempPath();
  await (await open(path)).close();
  for (const bytes of [99, 20, 16, 7]) {
    await truncate(path, bytes);
    expect(inspectFile(path)).toEqual({ kind: "damaged", reason: `it ends after ${bytes} bytes` });
  }
});

test("a database of a later release is foreign, and the reason says which", async () => {
  const path = await tempPath();
  await (await open(path)).close();
  const bytes = await readFile(path);
  bytes.writeInt32BE(schemaVersion + 6, 60);
  await writeFile(path, bytes);
  expect(inspectFile(path)).toEqual({
    kind: "foreign",
    reason: `it was written by a later release (schema ${schemaVersion + 6}, this one knows ${schemaVersion})`,
  });
});
