import path from "node:path";
import { MemoryError, type SearchCondition } from "@memslot/core";
import {
  type FoundChunk,
  isAsked,
  listRows,
  matchTexts,
  outcomeOf,
  type SearchedSource,
  placesOf,
  rowOf,
  type SearchInput,
  type SearchOutcome,
  undatedIn,
} from "@memslot/indexing";
import type { QmdRows } from "./ask-qmd.ts";
import { filteredFiles, ownBytes, ownFiles, withNote } from "./filtered-files.ts";
import { type Collection, collectionsWith } from "../update/collections.ts";
import { unavailable } from "../failures.ts";
import { keyOf, type QmdFile } from "../update/qmd-record.ts";
import { type FoundFile, placesOfRows } from "./places.ts";
import type { QmdContext } from "../qmd-context.ts";
import { QmdFailure } from "../qmd-contract.ts";

/** A session that may see no more than so many files needs no qmd to find them. */
const fewFiles = 20;
/** Files that qmd is asked for. */
const wantedFiles = 60;
/** Of a part of a collection the rest has to be asked for too. */
const wantedOfPart = 200;
/** How long a search waits for the first index. */
const firstIndexWaitsMs = 10_000;
const maxRows = 200;

/**
 * Finds with qmd. qmd says which files are about the question; what of them answers it, with lines, snippets and
 * scores, is found in the files themselves. Files that qmd has not read as they are now are searched here: they are few,
 * and a search never waits for qmd to read them.
 */
export async function searchQmd(input: SearchInput, parts: QmdContext): Promise<SearchOutcome> {
  const { options, query } = input;
  const { updates, record } = parts;
  const { signal } = options;
  const started = performance.now();
  await record.refresh();
  const filtered = filteredFiles(input, record);
  const places = filtered?.places ?? placesOf(options, input.scope);
  const waited = await waitForFirstIndex(parts, signal);
  const own = ownSearch(places, parts);
  const asksQmd = filtered?.read === undefined;
  const found = asksQmd ? await Promise.all(places.map((place) => findBy(place, own, input, parts))) : [];
  signal.throwIfAborted();

  const read = filtered?.read ?? [...own.searched, ...found.flatMap(({ files }) => files)];
  const files = new Map(read.map((file) => [keyOf(file), file]));
  const all = await record.chunksOf([...files.values()], signal);
  if (filtered && query === "") return withNote(listRows(input, all.map(rowOf), filtered.asked), filtered.note);
  const chunks = filtered?.fitting(all) ?? all;
  const undated = filtered && undatedIn(all.map(rowOf), filtered.asked);
  // Counted within what may be seen, as soon as that is not everything.
  const isNarrowed = places.some(({ scope }) => scope !== undefined);
  const counted = record.files.filter((file) => !isNarrowed || places.some((place) => isIn(file, place)));
  const chunkCount = counted.reduce((sum, { chunks }) => sum + chunks, 0);
  const keyword = await matchTexts({ chunks, query, chunkCount, limit: maxRows });
  const isByMeaning = found.some(({ answer }) => answer?.byMeaning === true);
  const note = found.map(({ answer }) => answer?.note).find((each) => each !== undefined);
  const outcome = outcomeOf(input, places, {
    keyword,
    vector: isByMeaning ? { rows: rowsByMeaning(found, chunks, keyword.answer.rows) } : undefined,
    // What qmd has said may be about another question, or name a note.
    degraded: note?.reason === undefined || options.audience === "private" ? note?.reason : "words answered alone",
    legsMs: performance.now() - started,
  });
  if (updates.index.unseen().length > 0) updates.request(own.left > 0 ? "soon" : "later");
  const left = filtered?.read ? 0 : own.left;
  // The place of a file in the list of qmd is no likeness of its text to the question.
  for (const result of outcome.results) delete result.vectorScore;
  const answer: SearchOutcome = {
    ...outcome,
    undated,
    report: { ...outcome.report, ...(note && { action: note.action }), ...(left > 0 && { action: askAgain }) },
  };
  return [left > 0 ? unreadBy(left, waited) : undefined, filtered?.note].reduce(withNote, answer);
}

const askAgain = "ask again in a moment, or run `memslot memory index`";

function unreadBy(left: number, waited: boolean): SearchCondition {
  const reason = waited ? "qmd is still reading the notes for the first time" : "qmd has not read all changes yet";
  return { state: "stale", reason: `${reason}: ${left} notes were not searched`, count: left };
}

/** Waits for the first index of more notes than can be searched without one. True where it is not there even then. */
async function waitForFirstIndex({ updates, record }: QmdContext, signal: AbortSignal): Promise<boolean> {
  const hasIndex = (): boolean => record.files.some(({ seen }) => seen !== undefined);
  if (record.files.length === 0 || hasIndex()) return false;
  const { lastError } = updates.facts();
  if (lastError !== undefined) {
    // A qmd that cannot make an index is none that can be asked. It is tried again when it has rested.
    updates.request("soon");
    throw unavailable(lastError.error);
  }
  if (fits(record.files)) return false;
  const patience = AbortSignal.timeout(firstIndexWaitsMs);
  try {
    await updates.now({ force: false, signal: AbortSignal.any([signal, patience]) });
  } catch (error) {
    signal.throwIfAborted();
    if (!patience.aborted) throw unavailable(error);
    // It goes on behind the answer.
    updates.request("soon");
  }
  return !hasIndex();
}

interface OwnSearch {
  /** Files that are searched without qmd. */
  searched: QmdFile[];
  /** Files that would have to be and are too many. */
  left: number;
  /** All of them, by key. */
  keys: ReadonlySet<string>;
}

/** What qmd does not have as it is, the newest first. */
function ownSearch(places: readonly SearchedSource[], { updates }: QmdContext): OwnSearch {
  const asked = updates.index.unseen().filter((file) => places.some((place) => isIn(file, place)));
  const newest = asked.toSorted((left, right) => right.mtimeMs - left.mtimeMs);
  const searched: QmdFile[] = [];
  let bytes = 0;
  for (const file of newest) {
    if (searched.length === ownFiles || bytes + file.size > ownBytes) break;
    searched.push(file);
    bytes += file.size;
  }
  return { searched, left: asked.length - searched.length, keys: new Set(asked.map(keyOf)) };
}

function fits(files: readonly QmdFile[]): boolean {
  return files.length <= ownFiles && files.reduce((sum, { size }) => sum + size, 0) <= ownBytes;
}

interface Found {
  files: QmdFile[];
  /** In the order of qmd, with the lines that it believes in. */
  places: FoundFile[];
  answer?: QmdRows | undefined;
}

/** What qmd finds in one source. */
async function findBy(
  place: SearchedSource,
  own: OwnSearch,
  { query, options }: SearchInput,
  parts: QmdContext,
): Promise<Found> {
  const { record, updates, workspaceDir } = parts;
  const rest = record.files.filter((file) => isIn(file, place) && !own.keys.has(keyOf(file)));
  if (rest.length === 0) return { files: [], places: [] };
  // The order in which qmd finds them is made of the words of everything that it has read.
  const isOwnWork = !parts.meaning.isWanted && fits(rest);
  if (place.scope !== undefined && (rest.length <= fewFiles || isOwnWork)) return { files: rest, places: [] };
  const collections = collectionsOf(rest, place, updates.index.collections, workspaceDir);
  let answer: QmdRows;
  try {
    answer = await parts.ask({
      query,
      collections,
      limit: place.scope === undefined ? Math.max(wantedFiles, options.maxResults) : wantedOfPart,
      signal: options.signal,
    });
  } catch (error) {
    if (error instanceof QmdFailure && error.reason === "index_damaged") await updates.lost(true);
    throw unavailable(error);
  }
  const { places: found, isLost } = placesOfRows(answer.rows, collections, parts);
  if (isLost) {
    await updates.restoreCollections();
    throw new MemoryError(
      "UNAVAILABLE",
      `qmd has found ${answer.rows.length} notes and none of them is there (mapping_failed): its index is about other folders and is being brought up to date; ask again in a moment`,
    );
  }
  if (answer.rows.length === 0) await assertHolds(rest, parts, options.signal);
  const wanted = found.filter(({ file }) => isIn(file, place) && !own.keys.has(keyOf(file)));
  return { files: wanted.map(({ file }) => file), places: wanted, answer };
}

/** Nothing found is to be believed where there is something to find it in. */
async function assertHolds(files: readonly QmdFile[], { updates }: QmdContext, signal: AbortSignal): Promise<void> {
  const status = await updates.index.look(signal).catch((error: unknown) => {
    // It has answered, and says no more: the command line alone is left of it.
    if (error instanceof QmdFailure) return undefined;
    throw error;
  });
  if (status === undefined || !updates.index.isEmptied(status, files)) return;
  await updates.lost(false);
  throw new MemoryError(
    "UNAVAILABLE",
    `the index of qmd is empty, though ${files.length} notes were read into it; it is being made anew, ask again in a moment`,
  );
}

function isIn(file: QmdFile, { source, scope }: SearchedSource): boolean {
  return isAsked(file, { sources: [source], scope });
}

/** The collections that hold any of these files: what is private is not even asked for in a shared session. */
function collectionsOf(
  files: readonly QmdFile[],
  { source, scope }: SearchedSource,
  all: readonly Collection[],
  workspaceDir: string,
): Collection[] {
  const own = all.filter((collection) => collection.source === source);
  if (scope === undefined || source === "sessions") return own;
  const holding = new Set(files.flatMap((file) => collectionsWith(own, path.resolve(workspaceDir, file.path))));
  return own.filter((collection) => holding.has(collection));
}

/**
 * One chunk of each file that qmd found, in its order: the one that holds most of the words, else the one where qmd
 * believes the match to be, else the first. The place in the list stands for the likeness: 1 for the first, then
 * 1 / (1 + 0.15 × rank).
 */
function rowsByMeaning(
  found: readonly Found[],
  chunks: readonly FoundChunk[],
  byWords: readonly ReturnType<typeof rowOf>[],
): ReturnType<typeof rowOf>[] {
  const ranked = found.filter(({ answer }) => answer?.byMeaning === true);
  return ranked.flatMap(({ places }) =>
    places.flatMap(({ file, line }, rank) => {
      const isOwn = (key: { path: string; source: string }): boolean =>
        key.path === file.path && key.source === file.source;
      const score = 1 / (1 + 0.15 * rank);
      const best = byWords.find(isOwn);
      if (best !== undefined) return [{ ...best, score }];
      const own = [...chunks.entries()].filter(([, chunk]) => isOwn(chunk));
      const at = own.find(([, { startLine, endLine }]) => line !== undefined && startLine <= line && line <= endLine);
      const [index, chunk] = at ?? own[0] ?? [];
      return index === undefined || chunk === undefined ? [] : [{ ...rowOf(chunk, index), score }];
    }),
  );
}
