import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { StampTrust, stateOf } from "../../scan/file-state.ts";
import { isCorrupt } from "./store-errors.ts";

/** Reading more than this takes longer than somebody who asks may wait, and as much memory. */
const readAtMostBytes = 256 * 1024 * 1024;

/** What a database file was when it was written last. */
interface FileSum {
  bytes: number;
  /** Nanoseconds since 1970, as text. */
  mtime: string;
  /** Absent for a file that is too large to be read each time. */
  sum?: number | undefined;
  /** What the file system told of the file. As long as it tells the same nobody has written to it since. */
  stamp?: string | undefined;
}

/**
 * The checksum of a database file, beside it. SQLite keeps none: a page that was damaged is read as it is, and what it
 * held is missing from every answer. Whoever is about to write takes the checksum away first, and makes it anew when all
 * that was written is in the file; so a file whose checksum is there and differs was spoilt.
 */
function sumPath(path: string): string {
  return `${path}-sum`;
}

/**
 * `differs`: the file is not what was written. `unknown`: there is no checksum to compare with. With `anew` the bytes are
 * read even where nothing tells of a change since they were compared.
 */
export function compareWithSum(
  path: string,
  { anew = false }: { anew?: boolean } = {},
): "same" | "differs" | "unknown" {
  const known = readSum(path);
  if (known === undefined) return "unknown";
  const found = statOf(path);
  if (found === undefined || found.bytes === 0) return "unknown";
  if (!anew && known.stamp !== undefined && known.stamp === found.stamp) return "same";
  const isUntouched = found.bytes === known.bytes && found.mtime === known.mtime;
  if (known.sum === undefined && isUntouched) return "same";
  try {
    if (known.sum !== undefined && found.bytes === known.bytes && sumOf(path) === known.sum) {
      // Copied, or restored: the same bytes at another time.
      if (!isUntouched) writeSum(path);
      return "same";
    }
  } catch {
    // It cannot be read, and whoever opens it is told why.
    return "unknown";
  }
  // Another process may have begun to write meanwhile: it has taken the checksum away.
  const still = readSum(path);
  return still !== undefined && still.sum === known.sum && still.mtime === known.mtime ? "differs" : "unknown";
}

/** Takes the checksum away: the file is about to be written. */
export function forgetSum(path: string): void {
  try {
    rmSync(sumPath(path), { force: true });
  } catch {
    // Where nothing can be deleted nothing can be written either, and the write that follows says why.
  }
}

export function hasSum(path: string): boolean {
  return readSum(path) !== undefined;
}

/** Records the file as it is. Called while nobody can write to it. */
export function writeSum(path: string): void {
  try {
    const before = statOf(path);
    if (before === undefined || before.bytes === 0) return;
    const isRead = before.bytes <= readAtMostBytes;
    // Whatever is written from here on has another time.
    waitForTick(path);
    const known: FileSum = isRead ? { ...before, sum: sumOf(path) } : before;
    // What is no database any more is not recorded as if it were too large to be read.
    if (isRead && known.sum === undefined) return forgetSum(path);
    // One that is half written is none.
    writeFileSync(sumPath(path), JSON.stringify(known), { mode: 0o600 });
    const after = statOf(path);
    if (after?.bytes !== before.bytes || after.mtime !== before.mtime || after.stamp !== before.stamp) forgetSum(path);
  } catch {
    // Without one the file is believed as it is.
    forgetSum(path);
  }
}

function readSum(path: string): FileSum | undefined {
  try {
    const { bytes, mtime, sum, stamp } = JSON.parse(readFileSync(sumPath(path), "utf8")) as Partial<FileSum>;
    return typeof bytes === "number" && typeof mtime === "string" ? { bytes, mtime, sum, stamp } : undefined;
  } catch {
    return undefined;
  }
}

function statOf(path: string): Omit<FileSum, "sum"> | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const file = stateOf(stats);
  const trust = new StampTrust();
  trust.see(file, stats, path);
  trust.judge();
  // Whole seconds are too coarse to wait for the next one.
  const stamp = stats.ctimeNs % 1_000_000_000n === 0n ? undefined : file.stamp;
  return { bytes: file.size, mtime: String(stats.mtimeNs), stamp };
}

/** The clock that file systems go by stands still for 10 ms at most. */
const tickMs = 20;

/** Waits, for 20 ms at most, until what is written to a file has a later time than it has now. */
function waitForTick(path: string): void {
  const ageMs = Date.now() - statSync(path).ctimeMs;
  if (ageMs < tickMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(tickMs, tickMs - ageMs));
}

/**
 * Of all bytes, read by a connection of its own that has nothing in its cache. Never by opening the file: when a process
 * closes a file, the system takes away all locks that it has on it (POSIX), also those of its other connections, and the
 * next process would take the index for its own alone. Undefined where it is no database any more.
 */
function sumOf(path: string): number | undefined {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 1000 });
  try {
    const [log] = db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[];
    // What is in the log and not in the file yet would be read in place of the file.
    if (log !== undefined && log.log > 0 && log.log !== log.checkpointed) throw new Error("it is being written");
    const bytes = db.serialize();
    const sum = crc32(bytes);
    // Frees the copy of the file now: the collector does not see how large it is, and may keep several.
    (bytes.buffer as ArrayBuffer).transfer(0);
    return sum;
  } catch (error) {
    if (isCorrupt(error)) return undefined;
    throw error;
  } finally {
    db.close();
  }
}
