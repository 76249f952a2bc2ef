import type { SearchCondition } from "@memslot/core";
import {
  type AskedQuery,
  filtersRows,
  fitsPlace,
  fittingPart,
  type FoundChunk,
  isAsked,
  placesOf,
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
} from "@memslot/indexing";
import type { QmdFile, QmdRecord } from "../update/qmd-record.ts";

/** What is searched without qmd: at most so many files and bytes. */
export const ownFiles: number = 200;
export const ownBytes: number = 8 * 1024 * 1024;

/** What a question with filters is asked of. */
export interface FilteredFiles {
  asked: AskedQuery;
  /** The places, narrowed to the files that fit by their paths. */
  places: SearchedSource[];
  /** All that there is to look at, where that is few enough to be read, or where there are no words to ask qmd for. */
  read: QmdFile[] | undefined;
  /** What of these chunks is asked for. */
  fitting(chunks: readonly FoundChunk[]): FoundChunk[];
  /** What of the filters cannot be promised. */
  note: SearchCondition | undefined;
}

/**
 * qmd knows neither days nor tags nor what is not to be found. Where few files fit by their paths, all of them are read, and
 * the answer is as exact as that of an index; of more, what qmd finds is filtered, and the answer says so. Undefined for a
 * question without filters.
 */
export function filteredFiles(input: SearchInput, record: Pick<QmdRecord, "files">): FilteredFiles | undefined {
  const { asked, options, query } = input;
  if (asked === undefined || !(filtersRows(asked) || query === "")) return undefined;
  const places = placesOf(options, input.scope);
  const files = record.files.filter(
    (file) => fitsPlace(file, asked) && places.some((place) => isAsked(file, { ...place, sources: [place.source] })),
  );
  const newest = files.toSorted((left, right) => right.mtimeMs - left.mtimeMs);
  const some: QmdFile[] = [];
  let bytes = 0;
  for (const file of newest) {
    if (some.length === ownFiles || bytes + file.size > ownBytes) break;
    some.push(file);
    bytes += file.size;
  }
  const isAll = some.length === files.length;
  const reason =
    query === ""
      ? "only the notes that were saved last were looked at: qmd is asked for words, and there are too many notes to read"
      : "what fits was chosen among what qmd has found: there may be more";
  return {
    asked,
    places: places.map(({ source }) => {
      const within = files.filter((file) => file.source === source).map(({ path }) => path);
      return { source, scope: { within, without: [] } };
    }),
    read: isAll || query === "" ? some : undefined,
    fitting: (chunks) => chunks.flatMap((chunk) => fittingPart(chunk, asked) ?? []),
    note: isAll ? undefined : { state: "degraded", reason },
  };
}

export function withNote(outcome: SearchOutcome, note: SearchCondition | undefined): SearchOutcome {
  return note === undefined ? outcome : { ...outcome, conditions: [note, ...(outcome.conditions ?? [])] };
}
