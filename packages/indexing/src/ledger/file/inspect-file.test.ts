import { randomBytes } from "node:crypto";
import { mkdir, open as openFile, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inspectFile } from "./inspect-file.ts";
import { schemaVersion } from "./schema.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { edit, open, tempPath } from "../test/ledgers.ts";

test("a file that is missing or empty is new", async () => {
  const folder = tempFolder();
  await writeFile(join(folder, "empty"), "");
  expect(inspectFile(join(folder, "missing"))).toEqual({ kind: "new" });
  expect(inspectFile(join(folder, "empty"))).toEqual({ kind: "new" });
});

test("a file that a store has made is ours, before and after it is closed", async () => {
  const path = tempPath();
  const store = await open(path);
  expect(inspectFile(path)).toEqual({ kind: "ours" });
  await store.close();
  expect(inspectFile(path)).toEqual({ kind: "ours" });
});

test("whatever else stands there is foreign", async () => {
  const folder = tempFolder();
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
  const path = tempPath();
  await (await open(path)).close();
  for (const bytes of [99, 20, 16, 7]) {
    await truncate(path, bytes);
    expect(inspectFile(path)).toEqual({ kind: "damaged", reason: `it ends after ${bytes} bytes` });
  }
});

test("a database of a later release is foreign, and the reason says which", async () => {
  const path = tempPath();
  await (await open(path)).close();
  const bytes = await readFile(path);
  bytes.writeInt32BE(schemaVersion + 6, 60);
  await writeFile(path, bytes);
  expect(inspectFile(path)).toEqual({
    kind: "foreign",
    reason: `it was written by a later release (schema ${schemaVersion + 6}, this one knows ${schemaVersion})`,
  });
});

describe("a beginning that was overwritten", () => {
  async function spoilt(at: number, bytes: Buffer): Promise<string> {
    const path = tempPath();
    await (await open(path)).close();
    const file = await openFile(path, "r+");
    await file.write(bytes, 0, bytes.length, at);
    await file.close();
    return path;
  }
  const kindsOf = (path: string): string[] => [false, true].map((isOwnPlace) => inspectFile(path, { isOwnPlace }).kind);

  test.each([
    ["16 bytes", 0, Buffer.alloc(16)],
    ["100 bytes", 0, Buffer.alloc(100, 0xa5)],
    ["the place that says whose it is", 68, Buffer.alloc(4)],
    ["what follows the name of the format", 16, Buffer.alloc(84)],
  ])("%s: our tables in it tell whose it is, in any place", async (_, at, bytes) => {
    expect(kindsOf(await spoilt(at, bytes))).toEqual(["damaged", "damaged"]);
  });

  test.each([
    ["the first page", 0, Buffer.alloc(32_768)],
    ["random bytes", 0, randomBytes(32_768)],
    ["the first page but for the name of the format", 16, Buffer.alloc(32_752, 0x11)],
    ["a text", 0, Buffer.from("# Notes\n".repeat(4096))],
  ])("%s: it is ours in our own place, and left alone in one that a person named", async (_, at, bytes) => {
    expect(kindsOf(await spoilt(at, bytes))).toEqual(["foreign", "damaged"]);
  });

  test("an impossible number of the schema is damage in our own place", async () => {
    expect(kindsOf(await spoilt(60, Buffer.from([0x7f, 1, 2, 3])))).toEqual(["foreign", "damaged"]);
  });

  test("a sound database of another program is left alone in our own place too, as one of a later release is", async () => {
    const theirs = join(tempFolder(), "main.sqlite");
    edit(theirs, (db) => db.exec("CREATE TABLE files (a); CREATE TABLE chunks (a); CREATE TABLE embedding_cache (a)"));
    expect(kindsOf(theirs)).toEqual(["foreign", "foreign"]);
    const version = Buffer.alloc(4);
    version.writeInt32BE(schemaVersion + 1);
    expect(kindsOf(await spoilt(60, version))).toEqual(["foreign", "foreign"]);
    const quoting = join(tempFolder(), "notes.md");
    await writeFile(quoting, "It says `CREATE TABLE spaces (` and `CREATE TABLE quarantine (`.");
    expect(inspectFile(quoting).kind).toBe("foreign");
  });
});
