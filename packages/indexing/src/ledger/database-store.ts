import { findRows, listChunks, createFileTables, type FileTables } from "./file-tables.ts";
import { type Companion, type CompanionTables, noCompanion } from "./store-search-tables.ts";
import type { IndexHealth } from "../index-row-types.ts";
import { createBuilds } from "./builds.ts";
import { Generations } from "./generations.ts";
import { type LeaseRows, createWriterMark } from "./leases.ts";
import { type Meta, metaKeys } from "./file/meta.ts";
import { openDatabase } from "./file/open-database.ts";
import type { LedgerCalls } from "./ledger.ts";
import type { OpenOptions } from "./thread/thread-messages.ts";
import { methodsOf, isPieces, type Method, type Pieces } from "./thread/remote-calls.ts";
import { Integrity } from "./integrity.ts";
import { countAll, freePagesIfMany } from "./upkeep/disk-space.ts";
import { createTransactions, type Transactions } from "./sql.ts";
import { createUpkeep } from "./upkeep/upkeep.ts";
import { createVectors } from "./vectors/vectors.ts";
import { isAboutWordsOnly, isDamage, toStoreError } from "./file/store-errors.ts";

/** Do not wait long for readers of other processes when closing. */
const closingBusyTimeoutMs = 200;
/** Opening indexes the words of about 10,000 chunks; the rest follows between calls. */
const settlingSteps = 150;
const closingTrimMs = 500;

export type OpenedStore = LedgerCalls & {
  /** What the thread answers by its name: the calls of the ledger, and those of its companion. */
  methods: readonly Method[];
  searches: ReadonlySet<string>;
  health(): IndexHealth;
  /** A small deferrable task between calls. True: there may be more. Never throws. */
  tidy(isQuiet?: boolean): Promise<boolean>;
  shrink(): void;
  close(): void;
  identity: string | undefined;
  rows: LeaseRows;
  holds(table: "files" | "embedding_cache"): boolean;
  /** Makes what is due before the first call. Never throws. */
  settle(): Promise<void>;
};

export function openDatabaseStore(options: OpenOptions, tables: CompanionTables = noCompanion): OpenedStore {
  const parts = openParts(options, tables);
  const { db, location, isOnDisk, identity, notices, meta, mark, transactions, integrity } = parts;
  const { vectors, companion, builds } = parts;
  const guard = createCallGuard(parts);
  const calls = { ...callsOf(parts, options.store), ...(companion.calls as object) };

  async function tidy(isQuiet: boolean): Promise<boolean> {
    if (await companion.tidy(isQuiet)) return true;
    if (vectors.tidy()) return true;
    if (transactions.hasWritten() && (builds.deleteDropped() || freePagesIfMany(parts))) return true;
    integrity.recordIfQuiet();
    return false;
  }

  return {
    ...guard.all(calls),
    methods: methodsOf(calls),
    searches: new Set(Object.keys(companion.calls)),
    identity,
    rows: rowsOf(meta, transactions),
    holds: (table) => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined,
    async settle() {
      try {
        for (let step = 1; (await companion.tidy(false)) && step < settlingSteps; step++);
      } catch (error) {
        // What cannot be done now is tried again between calls; damage is met by the next call.
        guard.failureOf(error);
      }
    },
    health: () => ({
      location,
      isTemporary: !isOnDisk,
      ...companion.health(),
      notices: [...notices],
      revision: parts.revision(),
    }),
    async tidy(isQuiet = true) {
      try {
        return !guard.isBroken() && (await tidy(isQuiet));
      } catch (error) {
        // What fails here fails in the next call too, which reports it.
        guard.failureOf(error);
        return false;
      }
    },
    shrink: () => void db.pragma("shrink_memory"),
    close() {
      try {
        if (guard.isBroken()) return;
        if (!transactions.hasWritten()) return integrity.record();
        db.pragma(`busy_timeout = ${closingBusyTimeoutMs}`);
        if (!isOnDisk) return;
        const until = Date.now() + closingTrimMs;
        while ((vectors.cache.trim() || builds.deleteDropped() || freePagesIfMany(parts)) && Date.now() < until);
        transactions.write(() => mark.clear());
        db.pragma("wal_checkpoint(TRUNCATE)");
        integrity.record();
      } catch {
        // What is written is in the log; only the tidying was not done, and the next one to open it does that.
      } finally {
        db.close();
      }
    },
  };
}

type Parts = ReturnType<typeof openParts>;

function openParts(options: OpenOptions, tables: CompanionTables) {
  const { store, opening = "" } = options;
  const opened = openDatabase(options, tables);
  const { db, meta, location, isOnDisk, openCompanion, notices } = opened;
  const mark = createWriterMark(meta);
  const generations = new Generations({ db, meta, store, opening, begin: tables.begin });
  const mayWrite = options.mayCreate !== false;
  const path = isOnDisk ? location : undefined;
  const integrity = new Integrity({ db, generations, path, mayWrite, countFound: (id) => companion.count(id) });
  let revision: string | undefined;
  /** The revision of the data that a call reads now, which its answer is of. */
  const seeRevision = (): string => (revision = generations.revision());
  const transactions = createTransactions(db, {
    seen: () => void seeRevision(),
    beforeFirstWrite() {
      if (isOnDisk) mark.set();
    },
    beforeWrite: () => integrity.writes(),
    afterWrite: () => integrity.wrote(),
  });
  const base = { db, meta, store, transactions, generations };
  const vectors = createVectors({
    ...base,
    companion: () => companion,
    cacheMaxEntries: options.cacheMaxEntries,
    keepsOwnVectors: options.keepsOwnVectors === true,
  });
  const companion: Companion = openCompanion({
    ...base,
    vectors: vectors.shared,
    notice: (line) => void (notices.includes(line) || notices.push(line)),
  });
  const fileTables = createFileTables({
    ...base,
    wrote(generation, chunks) {
      vectors.listener.wrote(chunks);
      companion.wrote(generation, chunks);
    },
    changed: vectors.listener.changed,
  });
  const filesOf = (generation: () => number): FileTables =>
    fileTables({ generation, changed: () => generations.revise() });
  const files = filesOf(() => generations.active().id);
  const builds = createBuilds({ ...base, fileTables, vectors, companion });
  const upkeep = createUpkeep({ ...base, filesOf, vectors, companion, builds, path });
  return {
    ...opened,
    ...base,
    mark,
    integrity,
    vectors,
    companion,
    files,
    builds,
    upkeep,
    path,
    seeRevision,
    revision: () => revision,
  };
}

function callsOf(parts: Parts, store: string): LedgerCalls {
  const { db, meta, transactions, generations, vectors, path, seeRevision } = parts;
  const filesOf = (build: number | undefined): FileTables =>
    build === undefined ? parts.files : parts.builds.tableOf(build);
  // Facts of a space are shared by all stores.
  const noteKey = (name: string): string => `${metaKeys.note}${name.startsWith(ofSpace) ? "" : store}:${name}`;
  return {
    listFiles: (build) => filesOf(build).listFiles(),
    replaceFiles: (files, build) => filesOf(build).replaceFiles(files),
    touchFiles: (files, build) => filesOf(build).touchFiles(files),
    removeFiles: (files, build) => filesOf(build).removeFiles(files),
    ...parts.builds.calls,
    ...vectors.calls,
    ...parts.upkeep,
    revision: seeRevision,
    listChunks: (asked) => transactions.read(() => listChunks(db, generations.active().id, asked)),
    rowsOf: (found) => transactions.read(() => findRows(db, generations.active().id, found)),
    reconcile(held, build) {
      vectors.shared.chunks();
      return transactions.write(() => {
        return vectors.storeVectors.reconcile(build ?? generations.active().id, filesOf(build), held);
      });
    },
    note: (name, value) =>
      transactions.write(() => (value === undefined ? meta.delete(noteKey(name)) : meta.set(noteKey(name), value))),
    noted: (name) => meta.get(noteKey(name)),
    stats: () => transactions.read(() => countAll(db, generations, path)),
  };
}

const ofSpace = "space:";

const rowAttempts = 20;
const rowPauseMs = 5;

/** Rows for other processes; waits only briefly for a writer. */
function rowsOf(meta: Meta, transactions: Transactions): LeaseRows {
  return {
    get: meta.get,
    set(key, value) {
      for (let attempt = 1; attempt <= rowAttempts; attempt++) {
        const written = transactions.writeIfFree(() => {
          if (value === undefined) meta.delete(key);
          else meta.set(key, value);
          return true;
        });
        if (written) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, rowPauseMs);
      }
    },
  };
}

/** Maps failures to errors with an action. A damaged database stops answering and is rebuilt at the next open. */
function createCallGuard({ meta, transactions, integrity, location }: Parts) {
  let broken: Error | undefined;

  function guarded(call: (...args: readonly unknown[]) => unknown): typeof call {
    return (...args) => {
      if (broken) throw broken;
      try {
        integrity.look();
        const answer = call(...args);
        return isPieces(answer) ? guardedPieces(answer) : answer;
      } catch (error) {
        throw failureOf(error);
      }
    };
  }

  async function* guardedPieces(pieces: Pieces<unknown>): Pieces<unknown> {
    try {
      return yield* pieces;
    } catch (error) {
      throw failureOf(error);
    }
  }

  function failureOf(error: unknown): Error {
    const failure = toStoreError(error, location);
    if (isDamage(error)) {
      broken = failure;
      if (isAboutWordsOnly(error)) markStale();
    }
    return failure;
  }

  function markStale(): void {
    try {
      transactions.write(() => meta.set(metaKeys.wordsStale, "1"));
    } catch {
      // Too damaged to record; the next open detects it.
    }
  }

  return {
    all: <Calls extends object>(calls: Calls): Calls =>
      Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guarded(call)])) as Calls,
    failureOf,
    isBroken: () => broken !== undefined,
  };
}
