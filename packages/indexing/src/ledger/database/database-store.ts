import { reasonOf } from "../thread/store-failure.ts";
import { createRowReader } from "../files/chunk-rows.ts";
import { type CompanionTables, noCompanion } from "./companion.ts";
import { createBuilds } from "../generations/builds.ts";
import { createFreePages } from "../upkeep/free-pages.ts";
import { createDroppedGenerations } from "../generations/dropped-generations.ts";
import { Damage } from "../file/file-faults.ts";
import { compareWithSum } from "../file/file-sum.ts";
import { createReconcile } from "../files/reconcile.ts";
import { createRowFinder } from "../files/rows-of.ts";
import { type ChunkListener, createFileTables } from "../files/file-tables.ts";
import { openGenerations } from "../generations/generations.ts";
import type { LeaseRows } from "../writers/leases.ts";
import { type Meta, metaKeys } from "../file/meta.ts";
import { openDatabase } from "../file/open-database.ts";
import { isPieces, type Pieces } from "../thread/pieces.ts";
import type { DatabaseStore, LeaseMethod, OpenOptions, StoreCalls } from "../thread/protocol.ts";
import { createSoundness, noSoundness, type Soundness } from "../upkeep/soundness.ts";
import { isAboutWordsOnly, isCorrupt, toStoreError } from "../file/store-errors.ts";
import { createStats } from "../upkeep/store-stats.ts";
import { createTransactions, type Transactions } from "./transactions.ts";
import { createUpkeep } from "../upkeep/upkeep.ts";
import { createVectors } from "../vectors/vectors.ts";
import { createWriterMark } from "../writers/writers.ts";

/** At the end nobody waits long for readers of other processes. */
const closingBusyTimeoutMs = 200;
/** What is not done by then is done by the next one that writes. */
const closingTrimMs = 500;

export type OpenedStore = DatabaseStore & {
  /** The file that is open, as `fileIdentity` names it; undefined where the index is in memory. */
  identity: string | undefined;
  rows: LeaseRows;
  /** Makes what is due before the first call. Never throws. */
  settle(): Promise<void>;
};

/** The ledger on its own thread, with what a store keeps in it: one database connection, one call at a time. */
export function openDatabaseStore(options: OpenOptions, tables: CompanionTables = noCompanion): OpenedStore {
  const { db, meta, location, isOnDisk, identity, stamp, openCompanion, notices } = openDatabase(options, tables);
  const mark = createWriterMark(meta);
  const generations = openGenerations({ db, meta, store: options.store, begin: tables.begin });
  const soundness: Soundness = isOnDisk
    ? createSoundness({
        db,
        generations,
        path: location,
        stamp,
        companion: () => companion,
        mayWrite: options.mayCreate !== false,
      })
    : noSoundness;
  const transactions = createTransactions(db, {
    beforeFirstWrite() {
      if (isOnDisk) mark.set();
    },
    beforeWrite: () => soundness.writes(),
    afterWrite: () => soundness.wrote(),
  });
  const vectors = createVectors({
    db,
    meta,
    transactions,
    generations,
    companion: () => companion,
    cacheMaxEntries: options.cacheMaxEntries,
    store: options.store,
    owesVectors: options.owesVectors === true,
  });
  const companion = openCompanion({
    db,
    meta,
    transactions,
    generations,
    readRows: createRowReader(db),
    vectors: vectors.shared,
    notice: (line) => void (notices.includes(line) || notices.push(line)),
  });
  const listener: ChunkListener = {
    added(chunk) {
      vectors.listener.added(chunk);
      companion.added(chunk);
    },
    removed(chunk) {
      vectors.listener.removed(chunk);
      companion.removed(chunk);
    },
    changed() {
      vectors.listener.changed();
      companion.changed();
    },
  };
  const fileTables = createFileTables({ db, transactions, listener });
  const files = fileTables({ generation: () => generations.active().id, changed: () => generations.revise() });
  const builds = createBuilds({ transactions, generations, fileTables, vectors, companion });
  const reconcile = createReconcile(db, vectors.ofStore);
  const findRows = createRowFinder(db);
  const noteKey = (name: string): string => `${metaKeys.note}${options.store}:${name}`;
  const dropped = createDroppedGenerations({ db, transactions, generations, vectors, companion });
  const freePages = createFreePages(db, transactions);
  const upkeep = createUpkeep({
    db,
    transactions,
    generations,
    filesOf: (generation) => fileTables({ generation, changed: () => generations.revise() }),
    vectors,
    companion,
    dropped,
    freePages,
    path: isOnDisk ? location : undefined,
    busyTimeoutMs: options.busyTimeoutMs,
  });
  const stats = createStats(db, generations, isOnDisk ? location : undefined);
  let broken: Error | undefined;

  /** Turns failures into what a caller can act on. A damaged database answers nothing more and is made anew at the next open. */
  function guarded<Args extends readonly unknown[], Result>(
    call: (...args: Args) => Result,
  ): (...args: Args) => Result {
    return (...args) => {
      if (broken) throw broken;
      try {
        soundness.look();
        const answer = call(...args);
        return isPieces(answer) ? (guardedPieces(answer) as Result) : answer;
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

  function failureOf(given: unknown): Error {
    // What cannot be read of the words alone may be a page that was spoilt, and then nothing else is to be relied on.
    const isSpoilt = isOnDisk && isAboutWordsOnly(given) && compareWithSum(location) === "differs";
    const error = isSpoilt ? new Damage(reasonOf(given)) : given;
    const failure = toStoreError(error, location);
    if (isCorrupt(error) || error instanceof Damage) {
      broken = failure;
      markDamaged(error);
    }
    return failure;
  }

  /** Words alone are no loss: they are made anew from the texts. */
  function markDamaged(error: unknown): void {
    try {
      transactions.write(() =>
        isAboutWordsOnly(error) ? meta.set(metaKeys.wordsStale, "1") : meta.set(metaKeys.damaged, reasonOf(error)),
      );
    } catch {
      // Too damaged to say so: then the next one to open it sees that by itself.
    }
  }

  async function tidy(): Promise<boolean> {
    if (await companion.tidy()) return true;
    if (vectors.tidy()) return true;
    // A process that only reads leaves it to one that writes.
    if (transactions.hasWritten() && (dropped.step() || freePages.stepIfMany())) return true;
    soundness.recordIfQuiet();
    return false;
  }

  function close(): void {
    try {
      if (broken) return;
      if (!transactions.hasWritten()) return soundness.record();
      db.pragma(`busy_timeout = ${closingBusyTimeoutMs}`);
      if (!isOnDisk) return;
      const until = Date.now() + closingTrimMs;
      while ((vectors.trim() || dropped.step()) && Date.now() < until);
      transactions.write(() => mark.clear());
      db.pragma("wal_checkpoint(TRUNCATE)");
      soundness.record();
    } catch {
      // What is written is in the log; only the tidying was not done, and the next one to open it does that.
    } finally {
      db.close();
    }
  }

  const calls: Omit<StoreCalls, LeaseMethod> = {
    listFiles: guarded(files.listFiles),
    replaceFiles: guarded(files.replaceFiles),
    touchFiles: guarded(files.touchFiles),
    removeFiles: guarded(files.removeFiles),
    revision: guarded(generations.revision),
    buildStart: guarded(builds.buildStart),
    buildCurrent: guarded(builds.buildCurrent),
    buildFinish: guarded(builds.buildFinish),
    buildAbandon: guarded(builds.buildAbandon),
    nextListFiles: guarded(builds.nextListFiles),
    nextReplaceFiles: guarded(builds.nextReplaceFiles),
    nextTouchFiles: guarded(builds.nextTouchFiles),
    nextRemoveFiles: guarded(builds.nextRemoveFiles),
    useSpace: guarded(vectors.calls.useSpace),
    pendingVectors: guarded(vectors.calls.pendingVectors),
    putVectors: guarded(vectors.calls.putVectors),
    knownVectors: guarded(vectors.calls.knownVectors),
    quarantine: guarded(vectors.calls.quarantine),
    quarantined: guarded(vectors.calls.quarantined),
    releaseQuarantine: guarded(vectors.calls.releaseQuarantine),
    spaces: guarded(vectors.calls.spaces),
    spaceStats: guarded(vectors.calls.spaceStats),
    oweVectors: guarded(vectors.calls.oweVectors),
    owedVectors: guarded(vectors.calls.owedVectors),
    paidVectors: guarded(vectors.calls.paidVectors),
    adoptVectors: guarded(vectors.calls.adoptVectors),
    rowsOf: guarded((found) => transactions.read(() => findRows(generations.active().id, found))),
    reconcile: guarded((held, build) => {
      vectors.shared.chunks();
      return transactions.write(() => {
        const table = build === undefined ? files : builds.tableOf(build);
        return reconcile(build ?? generations.active().id, table, held);
      });
    }),
    note: guarded((name, value) =>
      transactions.write(() => (value === undefined ? meta.delete(noteKey(name)) : meta.set(noteKey(name), value))),
    ),
    noted: guarded((name) => meta.get(noteKey(name))),
    stats: guarded(() => transactions.read(stats)),
    check: guarded(upkeep.check),
    repair: guarded(upkeep.repair),
    compact: guarded(upkeep.compact),
    tables: guarded(upkeep.tables),
    sample: guarded(upkeep.sample),
    vectorOf: guarded(upkeep.vectorOf),
  };
  const ofCompanion = Object.entries(companion.calls).map(([name, call]) => [name, guarded(call as () => unknown)]);
  return {
    ...calls,
    ...(Object.fromEntries(ofCompanion) as object),
    identity,
    rows: rowsOf(meta, transactions),
    async settle() {
      try {
        await companion.settle();
      } catch (error) {
        // What cannot be done now is tried again between calls; damage is met by the next call.
        failureOf(error);
      }
    },
    health: () => ({
      location,
      isTemporary: !isOnDisk,
      ...companion.health(),
      notices: [...notices],
    }),
    async tidy() {
      try {
        return broken === undefined && (await tidy());
      } catch (error) {
        // Nobody waits for it. What fails here fails in the next call too, and is told there.
        failureOf(error);
        return false;
      }
    },
    close,
  };
}

const rowAttempts = 20;
const rowPauseMs = 5;

/** Rows for others to read, which wait only a moment for a process that writes. */
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
