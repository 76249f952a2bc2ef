import type { ExcludedNotes, MemorySource, MemorySurvey, SyncFailure } from "@memslot/core";
import type { PathScope } from "../chunk-store.ts";
import type { SourceScope } from "../search/session-scope.ts";
import { type SourceOutcome, readFailure } from "./sync.ts";
import { closeSync, openSync } from "node:fs";
import { openForReading } from "../scan/open-file.ts";
import { codeOf } from "@memslot/core/files";
import type { IndexedSource } from "../indexed-source.ts";
import type { StoredFiles } from "./stored-files.ts";
import { createTimeSlices } from "../time-slices.ts";

type Excluded = Pick<SourceOutcome, "excluded" | "accepted" | "unreadPlaces">;

/**
 * What a search may find, without the files that could not be read when they were looked at last: what the index holds
 * of them is an earlier state. It stays there, and is found again when they can be read.
 */
export function withoutUnread(scope: SourceScope, sources: ReadonlyMap<MemorySource, Excluded>): SourceScope {
  return (source) => {
    const own = scope(source);
    const places = sources.get(source)?.unreadPlaces ?? [];
    if (places.length === 0) return own;
    return { within: own?.within ?? [""], without: [...(own?.without ?? []), ...places] };
  };
}

/** The notes that a search may find and does not reach, if any. */
export function excludedIn(
  scope: SourceScope,
  asked: readonly MemorySource[],
  sources: ReadonlyMap<MemorySource, Excluded>,
): ExcludedNotes | undefined {
  const notes: SyncFailure[] = [];
  let byConfiguration = 0;
  for (const source of asked) {
    const { excluded = [], accepted = [] } = sources.get(source) ?? {};
    const isSeen = (path: string): boolean => isWithin(path, scope(source));
    notes.push(...excluded.filter(({ path }) => isSeen(path)));
    byConfiguration += accepted.filter(isSeen).length;
  }
  return notes.length + byConfiguration === 0 ? undefined : { count: notes.length, notes, byConfiguration };
}

function isWithin(path: string, scope: PathScope | undefined): boolean {
  if (scope === undefined) return true;
  const isUnder = (place: string): boolean =>
    place === "" || path === place || `${path}/` === place || (place.endsWith("/") && path.startsWith(place));
  return scope.within.some(isUnder) && !scope.without.some(isUnder);
}

/** So that no file counts as standing elsewhere: each is tried. */
const nothingIndexed = async (): Promise<StoredFiles> => new Map();

/** The notes of all sources that are not searched. */
export function allExcluded(sources: Parameters<typeof excludedIn>[2]): ExcludedNotes {
  const everything: SourceScope = () => undefined;
  return excludedIn(everything, [...sources.keys()], sources) ?? { count: 0, notes: [], byConfiguration: 0 };
}

/**
 * The same without a sync. Opens each file, reads and changes nothing: why a file holds no text is known of indexed ones.
 */
export async function findExcluded(
  sources: readonly IndexedSource[],
  stored: StoredFiles,
  signal: AbortSignal,
): Promise<Pick<MemorySurvey, "excluded" | "notes">> {
  const found = new Map<MemorySource, Excluded>();
  const slices = createTimeSlices(signal);
  let notes = 0;
  for (const source of sources) {
    const { files, failed, excluded, accepted } = await source.scan(signal, nothingIndexed);
    const unread = new Map([...failed, ...excluded].map((note) => [note.path, note]));
    notes += files.length;
    for (const { path, absolutePath } of files) {
      if (slices.isOver()) await slices.pause();
      const record = stored.get(source.source)?.get(path);
      try {
        closeSync(openSync(absolutePath, openForReading));
        const reason = record && source.skippedBecause?.(record);
        if (reason !== undefined) unread.set(path, { path, reason });
      } catch (error) {
        if (codeOf(error) !== "ENOENT") unread.set(path, { path, reason: readFailure(error) });
      }
    }
    found.set(source.source, { excluded: [...unread.values()], accepted: [...accepted], unreadPlaces: [] });
  }
  return { excluded: allExcluded(found), notes };
}
