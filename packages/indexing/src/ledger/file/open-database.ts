import { existsSync, rmSync, readdirSync, accessSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import type { CompanionTables } from "../store-search-tables.ts";
import { forgetSum, isSpoilt, salvageVectors } from "../integrity.ts";
import { openFile, type OpenFile, openInMemory } from "./open-sqlite-file.ts";
import type { OpenOptions } from "../thread/thread-messages.ts";
import { fileIdentity, findSidecars, removeSidecars, setAside } from "./set-aside-damaged-file.ts";
import { Damage, earlierRelease, Foreign, isBusy, isDamage, isSqliteError } from "./store-errors.ts";
import { reasonOf } from "../thread/remote-calls.ts";
import { basename, dirname, join } from "node:path";
import { inspectFile } from "./inspect-file.ts";

export interface OpenDatabase extends OpenFile {
  /** The path of the file, or `:memory:`. */
  location: string;
  isOnDisk: boolean;
  identity?: string | undefined;
  notices: string[];
}

/** A damaged file is recreated once; another process may do the same. After that the disk is at fault. */
const attempts = 3;

/** Opens the index, or one in memory with a notice. Damaged files are set aside. Throws if SQLite does not load. */
export function openDatabase(options: OpenOptions, tables: CompanionTables): OpenDatabase {
  const { path } = options;
  if (options.mayCreate === false && !existsSync(path)) return inMemory(options, tables, []);
  if (options.isFull === true) return openWithoutSpace(options, tables);
  const notices: string[] = [];
  let aside: string | undefined;
  for (let attempt = 1; ; attempt++) {
    const identity = identityBefore(path);
    try {
      prepareFile(path, options.isOwnPlace === true);
      checkBytes(options, identity);
      const opened = openFile(options, tables);
      // Each of them has cost a request.
      if (aside !== undefined) salvageVectors(opened.db, aside);
      if (opened.notice !== undefined) notices.push(opened.notice);
      return { ...opened, location: path, isOnDisk: true, identity: fileIdentity(path), notices };
    } catch (error) {
      if (attempt < attempts && identity !== undefined && identityBefore(path) !== identity) continue;
      const reason = reasonOf(error);
      if (isDamage(error) && options.mayCreate === false) {
        notices.push(`the index ${path} is damaged (${reason}); the next sync rebuilds it from the notes`);
      } else if (isDamage(error) && attempt < attempts) {
        try {
          const moved = setAside(path, identity);
          if (moved !== undefined) notices.push(asideNotice(path, moved, reason));
          aside ??= moved;
          continue;
        } catch (failure) {
          const state = `is damaged (${reason}) and cannot be renamed (${reasonOf(failure)})${leftAsItIs}`;
          notices.push(memoryNotice(path, state, "delete it"));
        }
      } else {
        notices.push(describeFault(path, error));
      }
      return inMemory(options, tables, notices);
    }
  }
}

function inMemory({ store }: OpenOptions, tables: CompanionTables, notices: string[]): OpenDatabase {
  return { ...openInMemory(store, tables), location: ":memory:", isOnDisk: false, notices };
}

function openWithoutSpace(options: OpenOptions, tables: CompanionTables): OpenDatabase {
  const { path } = options;
  const sidecars = findSidecars(path);
  rmSync(path, { force: true });
  removeSidecars(path, sidecars);
  forgetSum(path);
  const state = "does not fit on its disk; what was written of it is deleted";
  return inMemory(options, tables, [memoryNotice(path, state, "free some space")]);
}

/** Throws `Damage` if the file is not the one that was written. */
function checkBytes({ path, damaged }: OpenOptions, identity: string | undefined): void {
  if (damaged !== undefined && damaged.identity === identity) throw new Damage(damaged.reason);
  if (isSpoilt(path)) throw new Damage("its content differs from what was written");
}

function identityBefore(path: string): string | undefined {
  try {
    return fileIdentity(path);
  } catch {
    return undefined;
  }
}

/** Deletes the records of a damaged file and describes what happened to it. */
function asideNotice(path: string, aside: string, reason: string): string {
  forgetSum(path);
  forgetOlderAside(path, aside);
  const [state, kept] =
    reason === earlierRelease ? ["is of an earlier release", "old"] : [`was damaged (${reason})`, "damaged"];
  return `the index ${path} ${state} and is rebuilt from the notes; the ${kept} file is kept as ${aside} and can be deleted`;
}

function describeFault(path: string, error: unknown): string {
  if (error instanceof Foreign) return memoryNotice(path, `is not used: ${error.message}${leftAsItIs}`, error.remedy);
  if (isBusy(error)) return memoryNotice(path, `is locked by another process${leftAsItIs}`, "end that process");
  if (isDamage(error))
    return memoryNotice(path, `is damaged again and again (${reasonOf(error)})${leftAsItIs}`, "check the disk");
  if (isSqliteError(error) || isFileSystemError(error)) {
    const isFull = isSqliteError(error, "SQLITE_FULL");
    const others = isFull ? "free some space" : "make it writable";
    const remedy = isSqliteError(error, "SQLITE_IOERR") ? "check the disk" : others;
    return memoryNotice(path, `cannot be used (${reasonOf(error)})${leftAsItIs}`, remedy);
  }
  throw error;
}

const leftAsItIs = "; it is left as it is";

function memoryNotice(path: string, state: string, remedy?: string): string {
  const otherFile = "set store.path to another file";
  const advice = remedy === undefined ? otherFile : `${remedy}, or ${otherFile}`;
  return `the index ${path} ${state}, and the index is kept in memory until this process ends, which reads all notes again at every start: ${advice}`;
}

function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

const suffixes = ["", "-wal", "-shm"] as const;

/** Deletes older damaged databases that were set aside, identified by the inode in their name. */
function forgetOlderAside(path: string, newest: string): void {
  const folder = dirname(path);
  const beginning = `${basename(path)}.corrupt-`;
  try {
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      const inode = name.startsWith(beginning)
        ? /^(\d+)(?:-\d+)?$/u.exec(name.slice(beginning.length))?.[1]
        : undefined;
      if (inode === undefined || file === newest || !fileIdentity(file)?.endsWith(`:${inode}`)) continue;
      for (const suffix of suffixes) rmSync(file + suffix, { force: true });
    }
  } catch {
    // They only take space.
  }
}

/** Checks the file or creates a private empty one. Throws `Foreign`, `Damage`, or file system errors. */
function prepareFile(path: string, isOwnPlace: boolean): void {
  const sidecars = findSidecars(path);
  const isMissing = fileIdentity(path) === undefined;
  inspectFile(path, isOwnPlace);
  if (isMissing) {
    removeSidecars(path, sidecars);
    forgetSum(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives its sidecar files this mode.
    closeSync(openSync(path, "a", 0o600));
  }
  // SQLite would silently open it read-only.
  accessSync(path, constants.R_OK | constants.W_OK);
}
