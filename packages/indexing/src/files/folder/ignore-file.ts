import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import ignore from "ignore";
import { stampOf } from "../file-stamp.ts";

// The thread that watches reads these too: nothing else of memslot is loaded for it.

const openForReading = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** Where there is none, or something else of that name: git does not follow a link either. */
const isNone: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EMLINK", "EISDIR"]);
/** More than this is no list that anybody wrote. */
const maxBytes = 256 * 1024;
/** A pattern becomes a regular expression whose work grows with a power of its stars. */
const maxStars = 4;
const maxStarsOfName = 3;

/** What a `.gitignore` says. */
export interface IgnoreFile {
  rules: { test(path: string): { ignored: boolean; unignored: boolean } };
  /** Lines that are passed over, each with the reason. */
  problems: readonly string[];
}

/** Keeps what was read while the file stays the same: looking at each path again costs more than all else of a scan. */
export type KnownIgnoreFiles = Map<string, { stamp: string; content: IgnoreFile }>;

/**
 * Reads the `.gitignore` of a folder. Undefined where there is none, or where it is a link, which git does not follow
 * either. Throws with the reason where it is there and cannot be read: what it leaves out is not known then.
 */
export function readIgnoreFile(folder: string, known?: KnownIgnoreFiles): IgnoreFile | undefined {
  const file = path.join(folder, ".gitignore");
  let descriptor: number;
  try {
    descriptor = openSync(file, openForReading);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (isNone.has(code)) return undefined;
    throw new Error(`its .gitignore cannot be read: ${message}`, { cause: error });
  }
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    if (!stats.isFile()) return undefined;
    if (stats.size > maxBytes) throw new Error(`its .gitignore is larger than ${maxBytes / 1024} KiB: shorten it`);
    const stamp = stampOf(stats);
    const before = known?.get(file);
    if (before?.stamp === stamp) return before.content;
    const content = parseIgnoreFile(readFileSync(descriptor, "utf8"));
    known?.set(file, { stamp, content });
    return content;
  } finally {
    closeSync(descriptor);
  }
}

/** Lines that could hold up the process for seconds are no rules that somebody meant, and are passed over. */
function parseIgnoreFile(text: string): IgnoreFile {
  const problems: string[] = [];
  const lines = text.split(/\r?\n/).filter((line, index) => {
    const stars = (part: string): number => part.match(/\*+/g)?.length ?? 0;
    const fits = stars(line) <= maxStars && line.split("/").every((part) => stars(part) <= maxStarsOfName);
    if (!fits && !line.startsWith("#"))
      problems.push(`line ${index + 1} has too many stars and is not used: write it as several lines`);
    return fits;
  });
  return { rules: ignore({ ignorecase: process.platform !== "linux" }).add(lines), problems };
}
