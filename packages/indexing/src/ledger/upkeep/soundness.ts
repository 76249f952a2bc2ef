import { statSync } from "node:fs";
import type Database from "better-sqlite3";
import type { Companion } from "../database/companion.ts";
import { Damage } from "../file/file-faults.ts";
import { compareWithSum, forgetSum, hasSum, writeSum } from "../file/file-sum.ts";
import type { Generations } from "../generations/generations.ts";
import { isLogSound } from "../file/log-check.ts";
import { beginWrite } from "../database/transactions.ts";

/** After so long without a write the file is recorded as it is. */
const quietMs = 500;

/**
 * Watches whether the file is still what was written to it. Own writes are known; whatever else has happened to the file
 * or its log is looked at before the next answer.
 */
export interface Soundness {
  /** Throws `Damage` where the index cannot be relied on. Costs next to nothing while nothing has happened. Called outside of transactions. */
  look(): void;
  /** Called inside of each write of this connection: what the file was does not count any more. */
  writes(): void;
  /** Called after it. */
  wrote(): void;
  /** Writes the log into the file and records what the file is, where that is not known and nobody else writes. */
  record(): void;
  /** The same, where nothing was written for a while. */
  recordIfQuiet(): void;
}

/** Of an index that is in no file. */
export const noSoundness: Soundness = {
  look: () => undefined,
  writes: () => undefined,
  wrote: () => undefined,
  record: () => undefined,
  recordIfQuiet: () => undefined,
};

export function createSoundness(input: {
  db: Database.Database;
  generations: Generations;
  path: string;
  /** Asked when it is needed, as it is opened later. */
  companion: () => Pick<Companion, "count">;
  /** False: nothing is written beside the file. */
  mayWrite: boolean;
}): Soundness {
  const { db, generations, path, mayWrite } = input;
  const dataVersion = db.prepare<[], number>("PRAGMA data_version").pluck();
  const countFiles = db
    .prepare<[number], number>("SELECT coalesce(sum(chunks), 0) FROM files WHERE +generation = ?")
    .pluck();
  const countChunks = db
    .prepare<[number], number>(
      "SELECT count(*) FROM files f CROSS JOIN chunks c ON c.file_id = f.id WHERE f.generation = ?",
    )
    .pluck();
  let known = { file: stampOf(path), log: stampOf(`${path}-wal`), version: dataVersion.get() };
  let isRecorded = hasSum(path);
  let writtenAt = performance.now();

  /** Files, chunks and what the companion has of them are as many as they should be: somebody else has written to them. */
  function checkCounts(): void {
    const read = db.transaction(() => {
      const { id } = generations.active();
      const found = input.companion().count(id);
      return { listed: countFiles.get(id) ?? 0, chunks: countChunks.get(id) ?? 0, found };
    });
    const { listed, chunks, found = chunks } = read.deferred();
    if (listed !== chunks || found !== chunks)
      throw new Damage(`${chunks} chunks are there of ${listed}, and ${found} of them can be found`);
  }

  /** Frames of the log; nothing is written for it. */
  function countFrames(): number {
    const [state] = db.pragma("wal_checkpoint(NOOP)") as { log: number }[];
    return state?.log ?? 0;
  }

  function record(): void {
    if (isRecorded || !mayWrite) return;
    isRecorded = true;
    try {
      const [state] = db.pragma("wal_checkpoint(PASSIVE)") as { busy: number; log: number; checkpointed: number }[];
      const log = stampOf(`${path}-wal`);
      if (state === undefined || state.busy !== 0 || state.log !== state.checkpointed) return;
      // Whoever wants to write waits for this: it would take the checksum away before it is there.
      beginWrite(db, 1);
      if (!hasSum(path) && stampOf(`${path}-wal`) === log) writeSum(path);
    } catch {
      // Another process writes, and records it when it has.
    } finally {
      if (db.inTransaction) db.exec("ROLLBACK");
      known = { ...known, file: stampOf(path), log: stampOf(`${path}-wal`) };
    }
  }

  return {
    look() {
      const now = { file: stampOf(path), log: stampOf(`${path}-wal`), version: dataVersion.get() };
      if (now.file === known.file && now.log === known.log && now.version === known.version) return;
      const before = known;
      known = now;
      // Only a look at the bytes tells a process that writes the log into the file from one that spoils it.
      if (now.file !== before.file && compareWithSum(path) === "differs")
        throw new Damage("its bytes are not those that were written");
      if (now.log !== before.log && now.version === before.version && !isLogSound(path, countFrames))
        throw new Damage("a page in its log is not what was written");
      if (now.version !== before.version) checkCounts();
    },
    writes: () => forgetSum(path),
    wrote() {
      isRecorded = false;
      writtenAt = performance.now();
      known = { ...known, file: stampOf(path), log: stampOf(`${path}-wal`) };
    },
    record,
    recordIfQuiet() {
      if (performance.now() - writtenAt >= quietMs) record();
    },
  };
}

function stampOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.size} ${stats.mtimeNs}`;
}
