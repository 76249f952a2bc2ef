import type { SearchCondition } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { isAsked } from "@memslot/indexing";
import {
  type AskedQuery,
  filtersRows,
  fitsPlace,
  placesOf,
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
} from "@memslot/indexing/engine";
import type { QmdFile, QmdRecord } from "../update/indexed-files.ts";

/** Largest part of the notes that a search reads without qmd. */
const ownFiles = 200;
const ownBytes = 8 * 1024 * 1024;

export function newestFiles(files: readonly QmdFile[]): QmdFile[] {
  let bytes = 0;
  const newest = files.toSorted((left, right) => right.mtimeMs - left.mtimeMs).slice(0, ownFiles);
  const end = newest.findIndex(({ size }) => (bytes += size) > ownBytes);
  return end < 0 ? newest : newest.slice(0, end);
}

export interface FilteredFiles {
  asked: AskedQuery;
  places: SearchedSource[];
  /** The files to read, if they are few or there are no words for qmd. */
  read: QmdFile[] | undefined;
  note: SearchCondition | undefined;
}

/** The files of a query with filters. qmd cannot filter by date and tag: few files are read here, more are filtered. */
export function filteredFiles(input: SearchInput, record: Pick<QmdRecord, "files">): FilteredFiles | undefined {
  const { asked, options, query } = input;
  if (asked === undefined || !(filtersRows(asked) || query === "")) return undefined;
  const places = placesOf(options, input.scope);
  const files = record.files.filter(
    (file) => fitsPlace(file, asked) && places.some((place) => isAsked(file, { ...place, sources: [place.source] })),
  );
  const newest = newestFiles(files);
  const isAll = newest.length === files.length;
  return {
    asked,
    places: places.map(({ source }) => {
      const within = files.filter((file) => file.source === source).map(({ path }) => path);
      return { source, scope: { within, without: [] } };
    }),
    read: isAll || query === "" ? newest : undefined,
    note: isAll ? undefined : { state: "degraded", ...sentence(query === "" ? "qmd.newest" : "qmd.filtered") },
  };
}

export function withNote(outcome: SearchOutcome, note: SearchCondition | undefined): SearchOutcome {
  return note === undefined ? outcome : { ...outcome, conditions: [note, ...(outcome.conditions ?? [])] };
}
