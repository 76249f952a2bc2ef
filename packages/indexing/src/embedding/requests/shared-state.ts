import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import path from "node:path";
import { messageOf } from "@memslot/core";
import Database from "better-sqlite3";
import { fileIdentity, setAside } from "../../ledger/file/set-aside-damaged-file.ts";
import { isBusy, isCorrupt } from "../../ledger/file/store-errors.ts";
import { type Sql, sqlOf, useWal } from "../../ledger/sql.ts";
import { localDay } from "../../text/times/calendar.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS circuits (
    fingerprint TEXT PRIMARY KEY, kind TEXT, reason TEXT, since TEXT, nextProbeAt TEXT, failures INTEGER, probeUntil TEXT
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS usage (
    day TEXT, agentId TEXT, reason TEXT, provider TEXT, model TEXT, requests INTEGER, tokens INTEGER,
    PRIMARY KEY (day, agentId, reason, provider, model)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS jobs (
    agentId TEXT, space TEXT, job TEXT, hashes TEXT, tokens REAL, failures INTEGER, submittedAt TEXT,
    PRIMARY KEY (agentId, space, job)
  ) WITHOUT ROWID;
`;
const busyTimeoutMs = 5000;
/** A file that could not be used is tried again after this time: a full disk may have space again. */
const retryMs = 60_000;

/** Failures, usage and batch jobs of embedding providers (`embeddings/state.sqlite`), shared by all processes. */
export class SharedState {
  readonly file: string;
  #db: Database.Database | undefined;
  #memory: Database.Database | undefined;
  #fault: string | undefined;
  #faultAt = 0;
  /** Of the file that is open or failed: another file in its place is tried. */
  #identity: string | undefined;

  constructor(stateDir: string) {
    this.file = path.join(stateDir, "embeddings", "state.sqlite");
  }

  /** Runs one query. Does not create the file. */
  read<Result>(query: (sql: Sql) => Result): Result {
    const inFile = existsSync(this.file) ? this.#inFile(query) : undefined;
    return inFile ? inFile.result : query(this.#inMemory());
  }

  write<Result>(work: (sql: Sql) => Result): Result {
    const stored = this.store(work);
    return stored ? stored.result : work(this.#inMemory());
  }

  /** Runs statements in one transaction; undefined, and nothing done, if the file cannot be used. */
  store<Result>(work: (sql: Sql) => Result): { result: Result } | undefined {
    return this.#inFile((sql, db) => db.transaction(() => work(sql)).immediate());
  }

  /** Why the file cannot be used; undefined if it can. Creates it if it is missing. */
  fault(): string | undefined {
    return this.#inFile(() => undefined) ? undefined : (this.#fault ?? `${this.file} is locked by another process`);
  }

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #inFile<Result>(work: (sql: Sql, db: Database.Database) => Result): { result: Result } | undefined {
    const isRetry = this.#fault !== undefined && Math.abs(Date.now() - this.#faultAt) >= retryMs;
    const before = this.#fault;
    if (isRetry || this.#identity !== identityOf(this.file)) {
      this.close();
      this.#fault = undefined;
    }
    if (this.#fault !== undefined) return undefined;
    try {
      const db = (this.#db ??= open(this.file));
      // Reading works on a full disk, too: until a write succeeds, the state in memory counts.
      if (isRetry) db.pragma("user_version = 1");
      this.#identity = identityOf(this.file);
      return { result: work(sqlOf(db), db) };
    } catch (error) {
      // Another process has held it for too long: the next call tries again.
      if (isBusy(error)) {
        this.#fault = before;
        return undefined;
      }
      this.close();
      if (isCorrupt(error) && isSetAside(this.file)) return this.#inFile(work);
      this.#identity = identityOf(this.file);
      this.#faultAt = Date.now();
      this.#fault = isCorrupt(error)
        ? `${this.file} is damaged; a new one replaces it tomorrow, or delete it to restart the count of the day now`
        : `${this.file} cannot be used: ${messageOf(error)}`;
      return undefined;
    }
  }

  #inMemory(): Sql {
    return sqlOf((this.#memory ??= withTables(new Database(":memory:"))));
  }
}

function open(file: string): Database.Database {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  // Private to the owner. SQLite creates its other files with the same mode.
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  const db = new Database(file, { timeout: busyTimeoutMs });
  try {
    useWal(db, busyTimeoutMs);
    db.pragma("synchronous = NORMAL");
    const found = db.pragma("quick_check(1)", { simple: true });
    if (found !== "ok") throw Object.assign(new Error(String(found)), { code: "SQLITE_CORRUPT" });
    return withTables(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Sets a damaged file aside if nothing was written to it today. */
function isSetAside(file: string): boolean {
  try {
    const identity = fileIdentity(file);
    const written = [file, `${file}-wal`].map(
      (each) => statSync(each, { throwIfNoEntry: false })?.mtime ?? new Date(0),
    );
    const isOld = written.every((time) => localDay(time) < localDay(new Date()));
    return isOld && setAside(file, identity) !== undefined;
  } catch {
    return false;
  }
}

function withTables(db: Database.Database): Database.Database {
  db.exec(schema);
  return db;
}

function identityOf(file: string): string | undefined {
  try {
    const { ino, birthtimeMs } = statSync(file);
    return `${ino} ${birthtimeMs}`;
  } catch {
    return undefined;
  }
}
