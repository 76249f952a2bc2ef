import { reasonOf, StoreFailure } from "../thread/remote-calls.ts";

/** The file belongs to another program or a later release; it is left alone. */
export class Foreign extends Error {
  /** What the user can do besides choosing another file. */
  readonly remedy: string | undefined;

  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

export class Damage extends Error {}

/** Why a file with tables of an earlier release is set aside. Its vectors are kept. */
export const earlierRelease = "it was written by an earlier release";

/** True for an error of SQLite whose code is one of these or an extended form of it. */
export function isSqliteError(error: unknown, ...codes: readonly string[]): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return false;
  return codes.length === 0 || codes.some((known) => code === known || code.startsWith(`${known}_`));
}

export function isBusy(error: unknown): boolean {
  return isSqliteError(error, "SQLITE_BUSY", "SQLITE_LOCKED");
}

export function isCorrupt(error: unknown): boolean {
  return isSqliteError(error, "SQLITE_CORRUPT", "SQLITE_NOTADB");
}

export function isDamage(error: unknown): boolean {
  return error instanceof Damage || isCorrupt(error);
}

/** True for damage in the tables of FTS5, which nothing else depends on. */
export function isAboutWordsOnly(error: unknown): boolean {
  return isSqliteError(error, "SQLITE_CORRUPT_VTAB");
}

export function isFileFailure(error: unknown): boolean {
  return (
    isCorrupt(error) ||
    isBusy(error) ||
    isSqliteError(error, "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_NOMEM")
  );
}

export function toStoreError(error: unknown, location: string): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const reason = reasonOf(error);
  return new StoreFailure("UNAVAILABLE", adviceFor(error, location, reason), { cause: error });
}

function adviceFor(error: unknown, location: string, reason: string): string {
  if (isDamage(error)) {
    return `the index ${location} is damaged (${reason}); it is rebuilt from the notes when it is opened the next time, so start again`;
  }
  if (isBusy(error)) {
    return `the index ${location} is locked by another process; end that process or try again`;
  }
  if (isSqliteError(error, "SQLITE_FULL")) {
    return `there is no space left for the index ${location}; free some, or set store.path to a file on another disk`;
  }
  if (isSqliteError(error, "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN")) {
    return `the index ${location} can no longer be read and written (${reason}); check the disk and the permissions, then start again`;
  }
  return `the index ${location} failed: ${reason}`;
}
