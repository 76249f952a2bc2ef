import { statSync, closeSync, openSync, readSync } from "node:fs";
import type Database from "better-sqlite3";
import type { Companion } from "../database/companion.ts";
import { Damage } from "../file/file-faults.ts";
import { compareWithSum, forgetSum, hasSum, writeSum } from "../file/file-sum.ts";
import type { Generations } from "../generations/generations.ts";
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

const headerBytes = 32;
const frameHeaderBytes = 24;
/**
 * False where a page in the log of a database is not what was written. SQLite compares the checksums in it only when it
 * takes a log over from a process that has died: one that is damaged while it is in use is read as it is. `countFrames`:
 * how many of its frames count now, as a connection knows it.
 */
function isLogSound(path: string, countFrames: () => number): boolean {
  const expected = countFrames();
  if (expected <= 0) return true;
  const file = openIfThere(`${path}-wal`);
  if (file === undefined) return true;
  try {
    const header = readHeader(file);
    if (soundFrames(file, header, expected) >= expected) return true;
    // It was begun anew meanwhile.
    return countFrames() !== expected || !readHeader(file).equals(header);
  } finally {
    // Of the log alone: SQLite keeps no locks on it. On the files beside it they would go with this.
    closeSync(file);
  }
}

function readHeader(file: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  return header.subarray(0, readSync(file, header, 0, headerBytes, 0));
}

/** How many frames from the beginning have the salt and the checksum that they should have. */
function soundFrames(file: number, header: Buffer, most: number): number {
  if (header.length < headerBytes) return 0;
  const salt = header.subarray(16, 24);
  const isBigEndian = (header.readUInt32BE(0) & 1) === 1;
  const pageBytes = header.readUInt32BE(8);
  let sums = checksum(header.subarray(0, 24), isBigEndian, [0, 0]);
  if (sums[0] !== header.readUInt32BE(24) || sums[1] !== header.readUInt32BE(28)) return 0;
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  for (let count = 0; count < most; count++) {
    const at = headerBytes + count * frame.length;
    if (readSync(file, frame, 0, frame.length, at) < frame.length) return count;
    if (!frame.subarray(8, 16).equals(salt)) return count;
    sums = checksum(frame.subarray(0, 8), isBigEndian, sums);
    sums = checksum(frame.subarray(frameHeaderBytes), isBigEndian, sums);
    if (sums[0] !== frame.readUInt32BE(16) || sums[1] !== frame.readUInt32BE(20)) return count;
  }
  return most;
}

/** The checksum of SQLite's log, which goes on from one frame to the next. */
function checksum(bytes: Buffer, isBigEndian: boolean, from: readonly [number, number]): [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [first, second] = from;
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, !isBigEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !isBigEndian) + first) >>> 0;
  }
  return [first, second];
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
