import { MemoryError, isAbort, messageOf } from "@memslot/core";

/** True when somebody else has written to the same table at the same time, and the same write may be tried again. */
export function isConflict(error: unknown): boolean {
  // Of two that make a table at once, the later one puts its own in place of the other's.
  return /commit conflict|conflicted with|concurrent|preempted|too many attempts|does not match existing table schema/i.test(
    textOf(error),
  );
}

/** True when a table, or a file of one of its versions, is not there any more. */
export function isGone(error: unknown): boolean {
  return /not found|no such file/i.test(textOf(error));
}

/** What a caller is told when a call on the index at `location` failed. */
export function toStoreError(error: unknown, location: string): Error {
  if (MemoryError.is(error) || isAbort(error)) return error as Error;
  const reason = reasonOf(error);
  if (isConflict(error)) {
    const message = `other processes write to the index ${location} all the time (${reason}); try again in a moment`;
    return new MemoryError("BUSY", message, { cause: error });
  }
  return new MemoryError("UNAVAILABLE", `the index ${location} ${adviceFor(reason)}`, { cause: error });
}

function adviceFor(reason: string): string {
  if (/no space left|StorageFull/i.test(reason))
    return "has no space left on its disk; free some, or set plugins.entries.memory-lancedb.config.dbPath to a folder on another one";
  if (/permission denied|read-only|access denied|forbidden|unauthorized/i.test(reason))
    return `must not be read or written (${reason}); check its permissions or credentials`;
  const what = isGone(reason) ? "lacks a part of its files" : "cannot be read or written";
  return `${what} (${reason}); try again, and if that does not help, rebuild it with \`memslot memory index --force\``;
}

/** What each layer of LanceDB puts before the words of the one below. */
const layers =
  /lance error: |LanceError\([^)]*\): |Failed to get next batch from stream: |Generic (?:memory|N\/A|S3) error: |Wrapped error: |External error: /g;
const placeInSource = /,?\s*(?:at )?[^\s,()]*\.rs:\d+(?::\d+)?/g;

/** The first sentence of LanceDB's words, without its layers and the places in its own source. */
export function reasonOf(error: unknown): string {
  const first = textOf(error)
    .split(/\s*Caused by:/)[0]
    ?.replaceAll(layers, "")
    .replaceAll(placeInSource, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return first === undefined || first === "" ? "no reason given" : first;
}

function textOf(error: unknown): string {
  return typeof error === "string" ? error : messageOf(error);
}
