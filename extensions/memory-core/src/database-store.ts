import { reasonOf } from "./store-failure.ts";
import type { KeywordAnswer, KeywordQuery } from "@memslot/indexing";
import { createRowReader } from "./chunk-rows.ts";
import { createFileTables } from "./file-tables.ts";
import { createChunkCounter, createKeywordSearch } from "./keyword-search.ts";
import { metaKeys } from "./meta.ts";
import { openDatabase } from "./open-database.ts";
import type { DatabaseStore, OpenOptions, StoreMethod } from "./protocol.ts";
import { isCorrupt, toStoreError } from "./store-errors.ts";
import { createStats } from "./store-stats.ts";
import { createTransactions } from "./transactions.ts";
import { createVectors } from "./vectors.ts";
import { createWriterMark } from "./writers.ts";

/** At the end nobody waits long for readers of other processes. */
const closingBusyTimeoutMs = 200;
/** What is not done by then is done by the next one that writes. */
const closingTrimMs = 500;

/** The store on its own thread: one database connection, one call at a time. */
export function openDatabaseStore(options: OpenOptions): DatabaseStore {
  const { db, meta, location, isOnDisk, ftsError, notices } = openDatabase(options);
  const mark = createWriterMark(meta);
  let hasWritten = false;
  const transactions = createTransactions(db, () => {
    hasWritten = true;
    if (isOnDisk) mark.set();
  });
  const readRows = createRowReader(db);
  const vectors = createVectors({
    db,
    meta,
    transactions,
    readRows,
    settings: options.vector,
    cacheMaxEntries: options.cacheMaxEntries,
    notice: (line) => void (notices.includes(line) || notices.push(line)),
  });
  const files = createFileTables({
    db,
    meta,
    transactions,
    indexWords: ftsError === undefined,
    listener: vectors.listener,
  });
  const searchKeyword = ftsError === undefined ? createKeywordSearch(db, transactions, readRows) : withoutWords();
  const stats = createStats(db, isOnDisk ? location : undefined);
  let broken: Error | undefined;

  function withoutWords(): (query: KeywordQuery) => KeywordAnswer {
    const countChunks = createChunkCounter(db);
    return ({ terms }) => ({ rows: [], chunkCount: countChunks(), documentFrequencies: terms.map(() => 0) });
  }

  /** Turns failures into what a caller can act on. A damaged database answers nothing more and is made anew at the next open. */
  function guarded<Args extends readonly unknown[], Result>(
    call: (...args: Args) => Result,
  ): (...args: Args) => Result {
    return (...args) => {
      if (broken) throw broken;
      try {
        return call(...args);
      } catch (error) {
        const failure = toStoreError(error, location);
        if (isCorrupt(error)) {
          broken = failure;
          markDamaged(reasonOf(error));
        }
        throw failure;
      }
    };
  }

  function markDamaged(reason: string): void {
    try {
      transactions.write(() => meta.set(metaKeys.damaged, reason));
    } catch {
      // Too damaged to say so: then the next one to open it sees that by itself.
    }
  }

  function close(): void {
    try {
      if (broken || !hasWritten) return;
      db.pragma(`busy_timeout = ${closingBusyTimeoutMs}`);
      if (!isOnDisk) return;
      const until = Date.now() + closingTrimMs;
      while (vectors.trim() && Date.now() < until);
      transactions.write(() => mark.clear());
      db.pragma("wal_checkpoint(TRUNCATE)");
    } catch {
      // What is written is in the log; only the tidying was not done, and the next one to open it does that.
    } finally {
      db.close();
    }
  }

  const calls: Pick<DatabaseStore, StoreMethod> = {
    listFiles: guarded(files.listFiles),
    replaceFiles: guarded(files.replaceFiles),
    touchFiles: guarded(files.touchFiles),
    removeFiles: guarded(files.removeFiles),
    searchKeyword: guarded(searchKeyword),
    useSpace: guarded(vectors.calls.useSpace),
    searchVector: guarded(vectors.calls.searchVector),
    pendingVectors: guarded(vectors.calls.pendingVectors),
    putVectors: guarded(vectors.calls.putVectors),
    knownVectors: guarded(vectors.calls.knownVectors),
    quarantine: guarded(vectors.calls.quarantine),
    quarantined: guarded(vectors.calls.quarantined),
    releaseQuarantine: guarded(vectors.calls.releaseQuarantine),
    spaces: guarded(vectors.calls.spaces),
    spaceStats: guarded(vectors.calls.spaceStats),
    probeVector: guarded(vectors.calls.probeVector),
    stats: guarded(() => transactions.read(stats)),
  };
  return {
    ...calls,
    health: () => ({
      location,
      fts:
        ftsError === undefined
          ? { enabled: true, available: true }
          : { enabled: true, available: false, error: ftsError },
      vector: vectors.health(),
      notices: [...notices],
    }),
    tidy() {
      try {
        return broken === undefined && guarded(vectors.tidy)();
      } catch {
        // Nobody waits for it. What fails here fails in the next call too, and is told there.
        return false;
      }
    },
    close,
  };
}
