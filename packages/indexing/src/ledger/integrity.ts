/** Detects external changes of an index file by checksum, row counts, page check and result comparison. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { StampTrust, stateOf } from "../scan/file-state.ts";
import { type HashKey, lengthOf, toVector } from "./vectors/vector-cache.ts";
import { sqlOf } from "./sql.ts";
import { beginWrite } from "./sql.ts";
import { metaKeys } from "./file/meta.ts";
import { findSidecars } from "./file/set-aside-damaged-file.ts";
import { Damage, isCorrupt } from "./file/store-errors.ts";
import type { Generations } from "./generations.ts";

/** Larger files take too long to read before a search. */
const readAtMostBytes = 256 * 1024 * 1024;
/** The clock of a file system advances at least this often. */
const tickMs = 20;
/** After so long without a write the file is recorded as it is. */
const quietMs = 500;

/** What a database file was when it was written last. A process that is about to write deletes this record first. */
interface FileSum {
  /** Size and CRC-32; of a file that is too large to be read each time, size and modification time. */
  sum: string;
  /** What the file system reports of the file. While it reports the same, nothing has written to the file. */
  stamp?: string | undefined;
}

/** Whether the file differs from what was written. `reread`: reads it even if its stamp is unchanged. */
export function isSpoilt(path: string, { reread = false }: { reread?: boolean } = {}): boolean {
  const known = readSum(path);
  if (known === undefined) return false;
  const stamp = stampOf(path);
  if (!reread && stamp !== undefined && stamp === known.stamp) return false;
  let found: string | undefined;
  try {
    found = sumOf(path);
    if (found === undefined) return false;
  } catch (error) {
    if (!isCorrupt(error)) return false;
  }
  if (found !== known.sum) {
    // Another process that has begun to write meanwhile has deleted the record.
    return readSum(path)?.sum === known.sum;
  }
  if (stamp !== known.stamp) writeSum(path);
  return false;
}

export function forgetSum(path: string): void {
  try {
    rmSync(`${path}-sum`, { force: true });
  } catch {
    // Where nothing can be deleted nothing can be written either, and the write that follows reports why.
  }
}

/** Records the file as it is. Called while no process can write to it. */
function writeSum(path: string): void {
  try {
    waitForTick(path);
    const stamp = stampOf(path);
    const sum = sumOf(path);
    if (sum !== undefined) writeFileSync(`${path}-sum`, JSON.stringify({ sum, stamp }), { mode: 0o600 });
    if (stampOf(path) !== stamp) forgetSum(path);
  } catch {
    forgetSum(path);
  }
}

function readSum(path: string): FileSum | undefined {
  try {
    const { sum, stamp } = JSON.parse(readFileSync(`${path}-sum`, "utf8")) as Partial<FileSum>;
    return typeof sum === "string" ? { sum, stamp } : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined if a write may leave the stamp as it is. */
function stampOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined || stats.ctimeNs % 1_000_000_000n === 0n) return undefined;
  const file = stateOf(stats);
  const trust = new StampTrust();
  trust.see(file, stats, path);
  trust.judge();
  return file.stamp;
}

/** Waits until a later write to the file gets a later time than the file has now. */
function waitForTick(path: string): void {
  const ageMs = Date.now() - statSync(path).ctimeMs;
  if (ageMs < tickMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(tickMs, tickMs - ageMs));
}

/** Checksum by a separate SQLite connection: closing the file directly drops POSIX locks of the process. */
function sumOf(path: string): string | undefined {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  if (size === 0n) return undefined;
  if (size > readAtMostBytes) return `${size} ${mtimeNs}`;
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 1000 });
  try {
    const [log] = db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[];
    // Pages in the log would be read instead of the file.
    if (log !== undefined && log.log > 0 && log.log !== log.checkpointed) return undefined;
    const bytes = db.serialize();
    const sum = crc32(bytes);
    // Frees the copy now: the collector does not see its size.
    (bytes.buffer as ArrayBuffer).transfer(0);
    return `${size} ${sum}`;
  } finally {
    db.close();
  }
}

export function quickCheck(db: Database.Database, table?: string): string[] {
  const lines = db.prepare<[], string>(`PRAGMA quick_check${table === undefined ? "" : `('${table}')`}`).pluck();
  return lines.all().filter((line) => line !== "ok");
}

/** What FTS5 reports of its own tables is judged with the words. */
export function isAboutWords(line: string): boolean {
  return /\bfts5\b/iu.test(line);
}

interface Watched {
  db: Database.Database;
  generations: Generations;
  path: string | undefined;
  /** Chunks of a generation that can be found, see `Companion`. */
  countFound: (generation: number) => number | undefined;
  mayWrite: boolean;
}

export class Integrity {
  readonly #of: Watched;
  #known: { file: string | undefined; version: number | undefined };
  #isRecorded: boolean;
  #writtenAt: number = performance.now();

  constructor(watched: Watched) {
    this.#of = watched;
    this.#known = this.#state();
    this.#isRecorded = watched.path === undefined || !watched.mayWrite || readSum(watched.path) !== undefined;
  }

  /** Throws `Damage` if the index is unreliable. Cheap while nothing has happened. Call it outside of transactions. */
  look(): void {
    const { path } = this.#of;
    if (path === undefined) return;
    const before = this.#known;
    const now = this.#state();
    this.#known = now;
    // Another process that checkpoints has deleted or rewritten the record.
    if (now.file !== before.file && isSpoilt(path)) throw new Damage("its content differs from what was written");
    if (now.version !== before.version) this.#checkCounts();
  }

  writes(): void {
    if (this.#of.path !== undefined) forgetSum(this.#of.path);
  }

  wrote(): void {
    if (this.#of.path === undefined) return;
    this.#isRecorded = !this.#of.mayWrite;
    this.#writtenAt = performance.now();
    this.#known = { ...this.#known, file: fileStamp(this.#of.path) };
  }

  record(): void {
    const { db, path } = this.#of;
    if (path === undefined || this.#isRecorded) return;
    const timeout = Number(db.pragma("busy_timeout", { simple: true }));
    try {
      db.pragma("busy_timeout = 0");
      const [state] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
      if (state?.busy !== 0) return;
      beginWrite(db, 1);
      const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
      if (readSum(path) === undefined && (log?.size ?? 0) === 0) writeSum(path);
      this.#isRecorded = true;
    } catch {
      // Another process writes, and records it when it has.
    } finally {
      if (db.inTransaction) db.exec("ROLLBACK");
      db.pragma(`busy_timeout = ${timeout}`);
      this.#known = { ...this.#known, file: fileStamp(path) };
    }
  }

  recordIfQuiet(): void {
    if (performance.now() - this.#writtenAt >= quietMs) this.record();
  }

  #state(): { file: string | undefined; version: number | undefined } {
    const { db, path } = this.#of;
    if (path === undefined) return { file: undefined, version: undefined };
    return { file: fileStamp(path), version: sqlOf(db).value<number>("PRAGMA data_version") };
  }

  #checkCounts(): void {
    const { db, generations, countFound } = this.#of;
    const sql = sqlOf(db);
    const read = db.transaction(() => {
      const { id } = generations.active();
      const listed = sql.value<number>("SELECT coalesce(sum(chunks), 0) FROM files WHERE +generation = ?", id);
      const rows = "SELECT count(*) FROM files f CROSS JOIN chunks c ON c.file_id = f.id WHERE f.generation = ?";
      const chunks = sql.value<number>(rows, id);
      return { listed, chunks, found: countFound(id) ?? chunks };
    });
    const { listed, chunks, found } = read.deferred();
    if (listed !== chunks || found !== chunks)
      throw new Damage(`${chunks} chunks are there of ${listed}, and ${found} of them can be found`);
  }
}

function fileStamp(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.size} ${stats.mtimeNs}`;
}

const bytesPerNumber = 4;
/** Vectors have length 1; others are damaged. */
const tolerance = 0.01;

/** Copies readable vectors of a damaged database to a new one. Never throws. */
export function salvageVectors(db: Database.Database, damagedPath: string): void {
  let damaged: Database.Database | undefined;
  const before = new Set(findSidecars(damagedPath).map(({ suffix }) => suffix));
  try {
    damaged = new Database(damagedPath, { readonly: true, fileMustExist: true });
    damaged.pragma("mmap_size = 0");
    db.exec("BEGIN IMMEDIATE");
    const addSpace = db.prepare("INSERT OR IGNORE INTO spaces VALUES (?, ?, ?, ?, ?, ?)");
    const spaces = "SELECT id, provider, model, provider_key, dims, written_at FROM spaces";
    for (const row of readable(damaged, spaces, "id")) addSpace.run(row);
    const addNote = db.prepare("INSERT OR IGNORE INTO meta VALUES (?, ?)");
    const notes = `SELECT key, value FROM meta WHERE key = '${metaKeys.mostChunks}' OR key LIKE '${metaKeys.note}:space:%'`;
    for (const row of readable(damaged, notes, "key")) addNote.run(row);
    copyVectors(damaged, db);
    db.exec("COMMIT");
  } catch {
    if (db.inTransaction) db.exec("ROLLBACK");
  } finally {
    damaged?.close();
    for (const { suffix } of findSidecars(damagedPath))
      if (!before.has(suffix)) rmSync(damagedPath + suffix, { force: true });
  }
}

function copyVectors(from: Database.Database, to: Database.Database): void {
  const embeddingOf = from.prepare<[number], Buffer>("SELECT embedding FROM vectors WHERE id = ?").pluck();
  const addVector = to.prepare("INSERT OR IGNORE INTO vectors (id, embedding) VALUES (?, ?)");
  const addEntry = to.prepare(
    "INSERT OR IGNORE INTO embedding_cache (hash, space_id, used_at, vector_id) VALUES (?, ?, ?, ?)",
  );
  const entries = `SELECT e.hash, e.space_id, e.used_at, e.vector_id, s.dims
    FROM embedding_cache e CROSS JOIN spaces s ON s.id = e.space_id`;
  for (const row of readable(from, entries, "e.hash")) {
    const [hash, spaceId, usedAt, vectorId, dims] = row as [HashKey, number, number, number, number];
    const embedding = readOr(() => embeddingOf.get(vectorId));
    if (embedding === undefined || !isWhole({ hash, usedAt, embedding, dims })) continue;
    if (addVector.run(vectorId, embedding).changes > 0) addEntry.run(hash, spaceId, usedAt, vectorId);
  }
  // Of two rows with one vector, or one text with two vectors, one is kept.
  to.exec("DELETE FROM vectors WHERE id NOT IN (SELECT vector_id FROM embedding_cache)");
}

function* readable(db: Database.Database, select: string, key: string): Generator<unknown[]> {
  for (const order of ["ASC", "DESC"]) {
    try {
      return yield* db.prepare<[], unknown[]>(`${select} ORDER BY ${key} ${order}`).raw().iterate();
    } catch {
      // The other direction reads what is behind it.
    }
  }
}

function readOr<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function isWhole(row: { hash: HashKey; usedAt: number; embedding: Buffer; dims: number }): boolean {
  const { hash, usedAt, embedding, dims } = row;
  if (!Buffer.isBuffer(embedding) || embedding.byteLength !== dims * bytesPerNumber) return false;
  if (typeof usedAt !== "number" || (typeof hash !== "string" && !Buffer.isBuffer(hash))) return false;
  return Math.abs(lengthOf(toVector(embedding)) - 1) < tolerance;
}
