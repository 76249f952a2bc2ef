import { closeSync, cpSync, existsSync, openSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type {
  NoteIndex,
  IndexedFile,
  IndexKeywordAnswer,
  KeywordQuery,
  QueryTerm,
  VectorSpace,
  VectorQuery,
  IndexVectorAnswer,
} from "@memslot/indexing";
import { forgetSum, openDatabaseStore, type OpenedStore } from "@memslot/indexing/ledger-tables";
import { type Child, type ChildOptions, startChild } from "@memslot/test-tools/child";
import { afterwards, tempFolder } from "@memslot/test-tools/files";
import { fileOf, numbered, sha256, spaceOf, vectorOf } from "@memslot/test-tools/ledger-files";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { createCompanion } from "../companion.ts";
import type { VectorSettings } from "../vectors/engines/engines.ts";
import { openStore, type SqliteIndex, type SqliteStoreFaults, type SqliteStoreOptions } from "../sqlite-store.ts";

export { fileOf, numbered, sha256, spaceOf, vectorOf };

export async function tempPath(): Promise<string> {
  return join(tempFolder(), "state", "main.sqlite");
}

/** Runs a command of `test/support/child.ts` in a process of its own. */
export function runChild(args: readonly string[], options?: ChildOptions): Child {
  return startChild(new URL("../../test/support/child.ts", import.meta.url), args, options);
}

/** A copy of an index that is closed. */
export async function copyOf(path: string): Promise<string> {
  const copy = await tempPath();
  cpSync(dirname(path), dirname(copy), { recursive: true });
  return join(dirname(copy), basename(path));
}

/** Opens a store that is closed when the test has ended. */
export async function open(
  path: string,
  given: Partial<SqliteStoreOptions> & SqliteStoreFaults = {},
): Promise<SqliteIndex> {
  const store = await openStore({ path, vector: { enabled: true }, cacheMaxEntries: 50_000, ...given }, given);
  afterwards(() => store.close());
  return store;
}

/** A store that holds these files, at a path of its own. */
export async function openWith(
  files: readonly IndexedFile[],
  given: Parameters<typeof open>[1] = {},
): Promise<{ path: string; store: SqliteIndex }> {
  const path = await tempPath();
  const store = await open(path, given);
  await store.replaceFiles(files);
  return { path, store };
}

export type StoreHere = OpenedStore & {
  searchKeyword(query: KeywordQuery): IndexKeywordAnswer;
  searchVector(query: VectorQuery): IndexVectorAnswer;
};

/** The store on this thread, so that nothing happens between two calls. Closed when the test has ended. */
export function openHere(
  path: string,
  {
    enabled = true,
    busyTimeoutMs = 1000,
    cacheMaxEntries = 50_000,
    ...vector
  }: Partial<VectorSettings> & { busyTimeoutMs?: number; cacheMaxEntries?: number } = {},
): StoreHere {
  const tables = createCompanion({ disableFts: false, vector: { enabled, ...vector } });
  const options = { path, store: "memory-core", cacheMaxEntries, busyTimeoutMs };
  const store = openDatabaseStore(options, tables) as StoreHere;
  afterwards(() => store.close());
  return store;
}

export function words(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

/** The texts of the chunks that hold one of the terms. */
export async function find(store: NoteIndex, ...terms: string[]): Promise<string[]> {
  const { rows } = await store.searchKeyword({ terms: words(...terms), sources: ["memory", "sessions"], limit: 50 });
  return rows.map((row) => row.text);
}

/** A vector search where nothing has a vector: what compares vectors is loaded by it. */
export const anyVector: VectorQuery = { space: spaceOf("none"), vector: vectorOf("none"), sources: [], limit: 1 };

/** Gives every pending chunk the vector of its text; returns their number. `use`: announces searches there first. */
export async function embedAll(
  store: NoteIndex,
  space: VectorSpace,
  { use = false }: { use?: boolean } = {},
): Promise<number> {
  if (use) await store.useSpace(space);
  const pending = await store.pendingVectors(space, 100_000);
  await store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text, space.dimensions) })),
  );
  return pending.length;
}

/** The texts nearest to the vector of a text. */
export async function near(store: NoteIndex, space: VectorSpace, text: string, limit = 5): Promise<string[]> {
  const query = { space, vector: vectorOf(text, space.dimensions), sources: ["memory", "sessions"], limit };
  return (await store.searchVector(query)).rows.map((row) => row.text);
}

/** The texts that are pending, in alphabetical order. */
export async function pendingTexts(store: NoteIndex, space: VectorSpace): Promise<string[]> {
  return (await store.pendingVectors(space, 100_000)).map(({ text }) => text).toSorted();
}

/** What a check of the file says of the codes of its vectors. */
export async function lookAtVectors(path: string): Promise<string | undefined> {
  const store = await open(path);
  const findings = await store.check();
  await store.close();
  return findings?.find(({ name }) => name === "vectors")?.message;
}

/**
 * Runs SQL on a database file from outside of any store, as a release of memslot would: it says that it writes to it.
 */
export function edit<Result>(path: string, work: (db: Database.Database) => Result): Result {
  const db = new Database(path);
  forgetSum(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** The single value that a query gives, in a file that no store need have open. */
export function valueIn(path: string, sql: string): unknown {
  return edit(path, (db) => db.prepare(sql).pluck().get());
}

export function expectIntegrity(path: string): void {
  expect(edit(path, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
}

/** An index that holds these files, closed. */
export async function indexWith(...files: IndexedFile[]): Promise<string> {
  const { path, store } = await openWith(files);
  await store.close();
  return path;
}

/** Overwrites the pages of one table, all but its first, with rubbish. Gives how many there were. */
export function spoilTable(path: string, table: string): number {
  const { pages, bytes } = edit(path, (db) => ({
    pages: db
      .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno")
      .pluck()
      .all(table)
      .slice(1),
    bytes: Number(db.pragma("page_size", { simple: true })),
  }));
  const file = openSync(path, "r+");
  for (const page of pages) writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, (page - 1) * bytes);
  closeSync(file);
  return pages.length;
}

export const editedSpace: VectorSpace = spaceOf("m", 512);

/** A text of some 1,300 characters that no other one equals, with a word that no other one has. */
export function textOf(name: string, version = 0): string {
  return `${name}key${version} ${others(name, version)}`;
}

function others(name: string, version: number): string {
  return Array.from({ length: 120 }, (_, word) => `${name}v${version}w${(word * 31 + version) % 997}`).join(" ");
}

export function noteOf(name: string, version = 0): IndexedFile {
  return fileOf(
    `${name}.md`,
    Array.from({ length: 6 }, (_, part) => textOf(`${name}p${part}`, part === 0 ? version : 0)),
  );
}

export const editedNotes: readonly IndexedFile[] = Array.from({ length: 36 }, (_, index) => noteOf(`note${index}`));

export async function fill(store: NoteIndex): Promise<void> {
  await store.replaceFiles(editedNotes);
  await embedAll(store, editedSpace, { use: true });
}

export async function faultsOf(store: NoteIndex): Promise<unknown[]> {
  const findings = (await store.check()) ?? [];
  expect(findings.length).toBeGreaterThan(0);
  return findings.filter(({ ok }) => !ok);
}

export function bytesOf(path: string): number {
  return ["", "-wal", "-shm"].reduce(
    (sum, suffix) => sum + (existsSync(path + suffix) ? statSync(path + suffix).size : 0),
    0,
  );
}

/** SQL that a sound program would not run. */
export function harm(path: string, sql: string): void {
  edit(path, (db) => {
    db.unsafeMode(true);
    db.exec(sql);
  });
}
