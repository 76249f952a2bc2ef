import type { IndexFinding } from "@memslot/core";
import type { ChunkIndex, FileRecord } from "../chunk-index.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { createStoredListing } from "./stored-files.ts";
import { isAsStored, readFailure } from "./sync.ts";

const named = 5;

/**
 * Reads every file and compares it with what was indexed of it. A file that has changed since is named, and is no fault:
 * the next look finds it. One that differs although the file system tells nothing of a change is a fault; with `fix` it is
 * marked, so that the next look reads it. Undefined where no source can compare.
 */
export async function compareContents(input: {
  store: Pick<ChunkIndex, "listFiles" | "touchFiles">;
  sources: readonly IndexedSource[];
  fix: boolean;
  signal: AbortSignal;
}): Promise<IndexFinding | undefined> {
  const { store, fix, signal } = input;
  const sources = input.sources.filter(({ holdsContent }) => holdsContent !== undefined);
  if (sources.length === 0) return undefined;
  const listing = createStoredListing(store);
  const stored = await listing.files();
  const [changed, unread]: [string[], string[]] = [[], []];
  const hidden: FileRecord[] = [];
  let same = 0;
  for (const source of sources) {
    for (const file of (await source.scan(signal, () => listing.files())).files) {
      signal.throwIfAborted();
      const before = stored.get(source.source)?.get(file.path);
      try {
        if (before === undefined) changed.push(file.path);
        else if ((await source.holdsContent?.(file, before, signal)) === true) same++;
        else if (file.stamp !== undefined && isAsStored(file, before, source)) hidden.push(before);
        else changed.push(file.path);
      } catch (error) {
        signal.throwIfAborted();
        unread.push(`${file.path} (${readFailure(error)})`);
      }
    }
  }
  if (fix && hidden.length > 0)
    await store.touchFiles(hidden.map((file) => ({ ...file, mtimeMs: -1, cursor: undefined })));
  const parts = [
    `${same} files hold what was indexed of them`,
    listed(
      "differ although their times and sizes say that they are unchanged",
      hidden.map(({ path }) => path),
    ),
    listed("have changed since the last sync", changed),
    listed("cannot be read", unread),
  ];
  const isFixed = fix && hidden.length > 0;
  return {
    name: "contents",
    ok: isFixed || hidden.length === 0,
    message: parts.filter((part) => part !== undefined).join("; "),
    ...(isFixed && { fixed: "they are read again by the next search or sync" }),
  };
}

function listed(what: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const rest = names.length - named;
  return `${names.length} ${what}: ${names.slice(0, named).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
