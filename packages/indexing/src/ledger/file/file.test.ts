import { randomBytes } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { inspectFile } from "./inspect-file.ts";
import { schemaVersion } from "./schema.ts";
import { edit, fileOf, open, openHere, tempPath } from "../test/ledgers.ts";
import { Damage } from "./store-errors.ts";
import { isSpoilt } from "../integrity.ts";
import { once } from "node:events";
import { readdir, rename, writeFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { fileIdentity, findSidecars, removeSidecars, setAside } from "./set-aside-damaged-file.ts";

type Make = (path: string) => unknown;

const store: Make = async (path) => await (await open(path)).close();
const text =
  (content: string): Make =>
  (path) =>
    writeFileSync(path, content);
const database =
  (sql: string): Make =>
  (path) =>
    edit(path, (db) => db.exec(sql));
/** A database of ours that ends after so many bytes. */
const cutAt =
  (bytes: number): Make =>
  async (path) => {
    await store(path);
    truncateSync(path, bytes);
  };
/** A database of ours with these bytes at a place. */
const spoilt =
  (at: number, bytes: Buffer): Make =>
  async (path) => {
    await store(path);
    const file = openSync(path, "r+");
    writeSync(file, bytes, 0, bytes.length, at);
    closeSync(file);
  };
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const later = `it was written by a later release (schema ${schemaVersion + 6}, this one knows ${schemaVersion})`;
const theirs = "CREATE TABLE files (a); CREATE TABLE chunks (a); CREATE TABLE embedding_cache (a)";
const quoting = "It says `CREATE TABLE spaces (` and `CREATE TABLE quarantine (`.";

function faultOf(path: string, isOwnPlace: boolean): unknown {
  try {
    return inspectFile(path, isOwnPlace);
  } catch (error) {
    return error;
  }
}

function kindOf(fault: unknown): string {
  if (fault === undefined) return "usable";
  return fault instanceof Damage ? "damaged" : "foreign";
}

// In a place that a person named, and in our own place, where a file without any sign is ours too.
test.each<[name: string, make: Make, anywhere: string, own: string, reason?: string]>([
  ["a missing file", () => undefined, "usable", "usable"],
  ["an empty file", text(""), "usable", "usable"],
  ["a database that is open", open, "usable", "usable"],
  ["a database that was closed", store, "usable", "usable"],
  ["notes", text("# Not a database\n".repeat(20)), "foreign", "damaged", "it is not a SQLite database"],
  ["a short text", text("x"), "foreign", "damaged", "it is not a SQLite database"],
  ["a note that quotes our tables", text(quoting), "foreign", "damaged"],
  ["a folder", (path) => mkdirSync(path), "foreign", "foreign", "it is a folder"],
  [
    "another database",
    database("CREATE TABLE t (a)"),
    "foreign",
    "foreign",
    "it is a SQLite database of another program",
  ],
  ["another database with tables like ours", database(theirs), "foreign", "foreign"],
  ["a database that ends early", cutAt(99), "damaged", "damaged", "it ends after 99 bytes"],
  ["a database that ends within its first words", cutAt(7), "damaged", "damaged", "it ends after 7 bytes"],
  ["a later release", spoilt(60, number(schemaVersion + 6)), "foreign", "foreign", later],
  ["16 overwritten bytes", spoilt(0, Buffer.alloc(16)), "damaged", "damaged"],
  ["100 overwritten bytes", spoilt(0, Buffer.alloc(100, 0xa5)), "damaged", "damaged"],
  ["an overwritten name of the program", spoilt(68, Buffer.alloc(4)), "damaged", "damaged"],
  ["an overwritten header", spoilt(16, Buffer.alloc(84)), "damaged", "damaged"],
  ["an overwritten first page", spoilt(0, Buffer.alloc(32_768)), "foreign", "damaged"],
  ["random bytes as the first page", spoilt(0, randomBytes(32_768)), "foreign", "damaged"],
  ["a first page but for the name of the format", spoilt(16, Buffer.alloc(32_752, 0x11)), "foreign", "damaged"],
  ["a text over the first page", spoilt(0, Buffer.from("# Notes\n".repeat(4096))), "foreign", "damaged"],
  ["an impossible number of the schema", spoilt(60, Buffer.from([0x7f, 1, 2, 3])), "foreign", "damaged"],
])("%s is recognised, anywhere and in our own place", async (_, make, anywhere, own, reason) => {
  const path = join(tempFolder(), "main.sqlite");
  await make(path);
  const found = [false, true].map((isOwnPlace) => faultOf(path, isOwnPlace));
  expect(found.map(kindOf)).toEqual([anywhere, own]);
  if (reason !== undefined) expect(found[0]).toHaveProperty("message", reason);
});

describe("the sum of a file", () => {
  interface Sum {
    sum: string;
    stamp?: string;
  }

  /** A ledger that was written and closed. */
  async function written(): Promise<{ path: string; sum: () => Sum; set: (sum: Sum) => void }> {
    const path = tempPath();
    const writing = openHere(path);
    writing.replaceFiles([fileOf("a.md", ["one", "two"])]);
    writing.close();
    const place = `${path}-sum`;
    return {
      path,
      sum: () => JSON.parse(readFileSync(place, "utf8")) as Sum,
      set: (sum) => writeFileSync(place, JSON.stringify(sum)),
    };
  }

  test("the bytes of an unchanged index are not read", async () => {
    const { path, sum, set } = await written();
    // With a checksum that fits nothing it is seen whether the bytes are read.
    set({ ...sum(), sum: "1" });
    expect(isSpoilt(path)).toBe(false);
    expect(isSpoilt(path, { reread: true })).toBe(true);
    utimesSync(path, new Date(), new Date());
    expect(isSpoilt(path)).toBe(true);
  });

  test("a byte that changes right behind a write, under the same size and modification time, is found each time", async () => {
    const { path, set, sum } = await written();
    for (let round = 1; round <= 10; round++) {
      // Restored, or touched: the same bytes at another time, which is recorded again. A whole second can be set again.
      utimesSync(path, round, round);
      expect(isSpoilt(path), `round ${round}`).toBe(false);
      const before = sum();
      const bytes = readFileSync(path);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      writeFileSync(path, bytes);
      utimesSync(path, round, round);
      expect(isSpoilt(path), `round ${round}`).toBe(true);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      writeFileSync(path, bytes);
      set(before);
    }
  });

  test("a damaged copy that is moved into the place of an index is found", async () => {
    const { path } = await written();
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    const bytes = readFileSync(copy);
    bytes[4096] = (bytes[4096] ?? 0) ^ 1;
    writeFileSync(copy, bytes);
    const { atime, mtime } = statSync(path);
    utimesSync(copy, atime, mtime);
    renameSync(copy, path);
    expect(isSpoilt(path)).toBe(true);
  });

  test("a check reads the bytes even if the file system reports no change, and a repair rebuilds the index", async () => {
    const { path, sum, set } = await written();
    const before = sum();
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf("two");
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const { size, mtimeNs, ctimeNs, ino } = statSync(path, { bigint: true });
    set({ ...before, stamp: `${size}:${mtimeNs}:${ctimeNs}:${ino}` });
    const ledger = await open(path);
    expect(((await ledger.check()) ?? []).filter(({ ok }) => !ok)).toEqual([
      { name: "database", ok: false, message: "its content differs from what was written" },
    ]);
    await ledger.repair();
    expect(ledger.health()).toMatchObject({ remade: 1 });
    expect(await ledger.listFiles()).toEqual([]);
  });
});

describe("a damaged file", () => {
  test("a ledger opens whichever of its pages is damaged", async () => {
    const path = tempPath();
    const made = openHere(path);
    made.replaceFiles([fileOf("a.md", ["one", "two"])]);
    made.close();
    const bytes = readFileSync(path);
    for (let at = 32_768; at < bytes.length; at += 32_768) {
      const copy = tempPath();
      mkdirSync(dirname(copy));
      writeFileSync(copy, Buffer.from(bytes).fill(0xa5, at, at + 32_768));
      const ledger = openHere(copy);
      expect(() => ledger.holds("files")).not.toThrow();
      ledger.close();
    }
  });

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
    await writeFile(path, "rebuilt by another process");
    expect(setAside(path, identity)).toBeUndefined();
    expect(setAside(path, undefined)).toBeUndefined();
    expect(readFileSync(path, "utf8")).toBe("rebuilt by another process");
  });

  test("only those files beside a database are deleted that were seen there before", async () => {
    const path = await threeFiles();
    const seen = findSidecars(path);
    await rename(`${path}-wal`, `${path}-kept`);
    await writeFile(`${path}-wal`, "of a new database");
    removeSidecars(path, seen);
    expect([existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([true, false]);
  });
});
