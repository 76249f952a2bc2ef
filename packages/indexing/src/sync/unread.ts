import type { MemorySource, SearchCondition, SyncFailure } from "@memslot/core";
import type { PathScope } from "../chunk-store.ts";
import type { SourceScope } from "../search/session-scope.ts";
import { type SourceOutcome, readFailure } from "./sync.ts";
import { closeSync, openSync } from "node:fs";
import { openForReading } from "../files/file-kind.ts";
import { codeOf } from "@memslot/core/files";
import type { IndexedSource } from "../indexed-source.ts";
import type { StoredFiles } from "./stored-files.ts";
import { createTimeSlices } from "../time-slices.ts";

type Unread = Pick<SourceOutcome, "unread" | "unreadPlaces">;
const named = 3;

/**
 * What a search may find, without the files that could not be read when they were looked at last: what the index holds
 * of them is an earlier state. It stays there, and is found again when they can be read.
 */
export function withoutUnread(scope: SourceScope, sources: ReadonlyMap<MemorySource, Unread>): SourceScope {
  return (source) => {
    const own = scope(source);
    const places = sources.get(source)?.unreadPlaces ?? [];
    if (places.length === 0) return own;
    return { within: own?.within ?? [""], without: [...(own?.without ?? []), ...places] };
  };
}

/** Says what of the memory that a search may find could not be read, if anything. */
export function aboutUnread(
  scope: SourceScope,
  asked: readonly MemorySource[],
  sources: ReadonlyMap<MemorySource, Unread>,
): SearchCondition | undefined {
  const failures = asked.flatMap((source) =>
    (sources.get(source)?.unread ?? []).filter(({ path }) => isWithin(path, scope(source))),
  );
  if (failures.length === 0) return undefined;
  const count = failures.length;
  return { state: "degraded", reason: `${describe(failures)}: what stands there is not in this answer`, count };
}

function describe(failures: readonly SyncFailure[]): string {
  const first = failures.slice(0, named).map(({ path, reason }) => `${path} (${reason})`);
  const rest = failures.length - first.length;
  const what = failures.length === 1 ? "1 file or folder" : `${failures.length} files and folders`;
  return `${what} of the memory cannot be read, ${first.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function isWithin(path: string, scope: PathScope | undefined): boolean {
  if (scope === undefined) return true;
  const isUnder = (place: string): boolean =>
    place === "" || path === place || `${path}/` === place || (place.endsWith("/") && path.startsWith(place));
  return scope.within.some(isUnder) && !scope.without.some(isUnder);
}

/** So that no file counts as standing elsewhere: each is tried. */
const nothingIndexed = async (): Promise<StoredFiles> => new Map();

/** The files and folders of the memory that are there and cannot be read now. Opens each file, reads and changes nothing. */
export async function findUnread(sources: readonly IndexedSource[], signal: AbortSignal): Promise<SyncFailure[]> {
  const unread: SyncFailure[] = [];
  const slices = createTimeSlices(signal);
  for (const source of sources) {
    const { files, failed } = await source.scan(signal, nothingIndexed);
    unread.push(...failed);
    for (const { path, absolutePath } of files) {
      if (slices.isOver()) await slices.pause();
      try {
        closeSync(openSync(absolutePath, openForReading));
      } catch (error) {
        if (codeOf(error) !== "ENOENT") unread.push({ path, reason: readFailure(error) });
      }
    }
  }
  return unread;
}
