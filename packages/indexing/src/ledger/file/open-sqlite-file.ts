import Database from "better-sqlite3";
import { forgetSum, isAboutWords, quickCheck } from "../integrity.ts";
import { laterVersion } from "./inspect-file.ts";
import { type Meta, metaKeys, openMeta } from "./meta.ts";
import type { OpenOptions } from "../thread/thread-messages.ts";
import type { Companion, CompanionTables, LedgerParts } from "../store-search-tables.ts";
import { addGeneration, applicationId, createTables, probes, schemaVersion, setPragmas } from "./schema.ts";
import { Damage, earlierRelease, Foreign, isSqliteError } from "./store-errors.ts";
import { reasonOf } from "../thread/remote-calls.ts";
import { beginWrite, useWal } from "../sql.ts";
import { deadWriters } from "../leases.ts";

export interface OpenFile {
  db: Database.Database;
  meta: Meta;
  openCompanion: (parts: LedgerParts) => Companion;
  notice?: string | undefined;
}

export function openFile({ path, store, busyTimeoutMs, owner }: OpenOptions, tables: CompanionTables): OpenFile {
  const db = new Database(path, { timeout: busyTimeoutMs });
  try {
    setPragmas(db);
    checkOwner(db);
    if (numberOf(db, "user_version") < schemaVersion) makeTables(db, store, tables);
    // Without it the file cannot shrink.
    if (numberOf(db, "auto_vacuum") === 0) throw new Damage(earlierRelease);
    if (db.pragma("journal_mode", { simple: true }) !== "wal") {
      forgetSum(path);
      useWal(db, busyTimeoutMs);
    }
    beginWrite(db, 1);
    db.exec("ROLLBACK");
    const meta = openMeta(db);
    const isOwned = owner === undefined || isOwnedBy(meta, owner);
    checkContent(db, meta, store);
    if (!hasGenerations(db, store)) write(db, () => addFirst(db, store, tables));
    if (!isOwned) write(db, () => void (isOwnedBy(meta, owner) || meta.set(metaKeys.owner, textOf(owner))));
    const { notice, open } = tables.settle({ db, meta, store, path, write: (work) => write(db, work) });
    return { db, meta, openCompanion: open, notice };
  } catch (error) {
    db.close();
    // The schema is ours and the simplest query fails.
    throw isSqliteError(error, "SQLITE_ERROR") ? new Damage(reasonOf(error)) : error;
  }
}

export function openInMemory(store: string, tables: CompanionTables): OpenFile {
  const db = new Database(":memory:");
  setPragmas(db);
  db.pragma("auto_vacuum = INCREMENTAL");
  createTables(db, store, tables.begin);
  const meta = openMeta(db);
  const { open } = tables.settle({ db, meta, store, path: db.name, write: (work) => work() });
  return { db, meta, openCompanion: open };
}

/** The header may be older than the log, or the file may have been replaced. */
function checkOwner(db: Database.Database): void {
  // In one snapshot: another process may be making the tables between one question and the next.
  const read = db.transaction(() => ({
    anything: db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get(),
    owner: numberOf(db, "application_id"),
    version: numberOf(db, "user_version"),
  }));
  const { anything, owner, version } = read.deferred();
  if (owner !== applicationId && anything !== undefined)
    throw new Foreign("it is a SQLite database of another program");
  if (version > schemaVersion) throw new Foreign(laterVersion(version));
}

function makeTables(db: Database.Database, store: string, tables: CompanionTables): void {
  const begin = numberOf(db, "page_count") === 0 ? beginFile : beginWriteOnce;
  function make(): void {
    if (numberOf(db, "user_version") >= schemaVersion) return;
    if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined) throw new Damage(earlierRelease);
    createTables(db, store, tables.begin);
  }
  write(db, make, begin);
}

/** Takes the write lock of an empty file and enables incremental vacuum. */
function beginFile(db: Database.Database): void {
  db.exec("BEGIN");
  db.pragma("auto_vacuum = INCREMENTAL");
}

function beginWriteOnce(db: Database.Database): void {
  beginWrite(db, 1);
}

/** Throws if the database is unreliable. Reads every page only after a crash during a write. */
function checkContent(db: Database.Database, meta: Meta, store: string): void {
  for (const probe of probes) db.prepare(probe).get();
  const answering = db
    .prepare<[string], number>("SELECT count(*) FROM generations WHERE state = 'active' AND store = ?")
    .pluck()
    .get(store);
  if (answering !== 1 && !isNew(db, store))
    throw new Damage(`${answering ?? 0} builds of it are marked as the one that answers`);
  const dead = deadWriters(meta);
  if (dead.length === 0) return;
  const faults = quickCheck(db);
  const damaged = faults.find((line) => !isAboutWords(line));
  if (damaged !== undefined) throw new Damage(damaged);
  write(db, () => {
    for (const key of dead) meta.delete(key);
    if (faults.length > 0) meta.set(metaKeys.wordsStale, "1");
  });
}

function hasGenerations(db: Database.Database, store: string): boolean {
  return db.prepare("SELECT 1 FROM generations WHERE store = ?").get(store) !== undefined;
}

function isNew(db: Database.Database, store: string): boolean {
  const lost = "SELECT 1 FROM files WHERE generation NOT IN (SELECT id FROM generations)";
  return !hasGenerations(db, store) && db.prepare(lost).get() === undefined;
}

/** Adds the first build of a store to a file made by another store. */
function addFirst(db: Database.Database, store: string, { begin }: CompanionTables): void {
  if (!hasGenerations(db, store)) addGeneration(db, { store, name: "", state: "active", begin });
}

function write(db: Database.Database, work: () => void, begin = beginWriteOnce): void {
  try {
    begin(db);
    forgetSum(db.name);
    work();
    db.exec("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function numberOf(
  db: Database.Database,
  pragma: "application_id" | "user_version" | "page_count" | "auto_vacuum",
): number {
  return Number(db.pragma(pragma, { simple: true }));
}

type IndexOwner = NonNullable<OpenOptions["owner"]>;

/** False if the owner is not recorded or its workspace moved. Throws `Foreign` for another agent's index. */
function isOwnedBy(meta: Meta, owner: IndexOwner): boolean {
  const text = meta.get(metaKeys.owner);
  if (text === undefined) return false;
  const known = agentOf(text);
  if (known === owner.agentId) return text === textOf(owner);
  throw new Foreign(
    `it holds the notes of the agent "${known}", not of "${owner.agentId}", and each agent has an index of its own`,
    "write {agentId} into store.path",
  );
}

function agentOf(owner: string): string | undefined {
  try {
    return (JSON.parse(owner) as Partial<IndexOwner>).agentId;
  } catch {
    // Must not count as an index without an owner.
    throw new Damage("it does not say whose notes it holds");
  }
}

function textOf({ agentId, workspaceDir }: IndexOwner): string {
  return JSON.stringify({ agentId, workspaceDir });
}
