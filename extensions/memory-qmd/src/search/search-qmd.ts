import { existsSync } from "node:fs";
import path from "node:path";
import { MemoryError, type SearchCondition } from "@memslot/core";
import { lazily, sentence } from "@memslot/core/host";
import { isAsked } from "@memslot/indexing";
import {
  fittingPart,
  type FoundChunk,
  listRows,
  matchTexts,
  outcomeOf,
  placesOf,
  rowOf,
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
  undatedIn,
} from "@memslot/indexing/engine";
import { QmdFailure, toMemoryError } from "../failures.ts";
import type { QmdRow } from "../process/qmd-client.ts";
import type { QmdContext } from "../open-memory-parts.ts";
import { type Collection, collectionsWith, pathIn } from "../update/collections.ts";
import { keyOf, type QmdFile } from "../update/indexed-files.ts";
import { askQmd, type QmdAnswer } from "./ask-qmd.ts";
import { filteredFiles, newestFiles, withNote } from "./filtered-files.ts";

/** Fewer visible files are read without qmd. */
const fewFiles = 20;
const wantedFiles = 60;
const wantedOfPart = 200;
const firstIndexWaitsMs = 10_000;
const maxRows = 200;

/** qmd finds files; lines, snippets and scores come from their texts. Files that qmd lacks are searched here. */
export async function searchQmd(input: SearchInput, context: QmdContext): Promise<SearchOutcome> {
  const { options, query } = input;
  const { updates, record } = context;
  const { signal } = options;
  const started = performance.now();
  await record.refresh();
  const filtered = filteredFiles(input, record);
  const places = filtered?.places ?? placesOf(options, input.scope);
  const isFirst = await waitForFirstIndex(context, signal);
  const unseen = updates.index.unseen().filter((file) => places.some((place) => isIn(file, place)));
  const own = newestFiles(unseen);
  const unseenKeys = new Set(unseen.map(keyOf));
  const found = filtered?.read
    ? []
    : await Promise.all(places.map((place) => findIn(place, unseenKeys, input, context)));
  signal.throwIfAborted();

  const read = filtered?.read ?? [...own, ...found.flatMap(({ files }) => files.map(({ file }) => file))];
  const all = await record.chunksOf([...new Map(read.map((file) => [keyOf(file), file])).values()], signal);
  if (filtered && query === "") return withNote(listRows(input, all.map(rowOf), filtered.asked), filtered.note);
  const chunks = filtered ? all.flatMap((chunk) => fittingPart(chunk, filtered.asked) ?? []) : all;
  // The number of chunks weighs words: hidden notes must not show in it.
  const isNarrowed = places.some(({ scope }) => scope !== undefined);
  const counted = record.files.filter((file) => !isNarrowed || places.some((place) => isIn(file, place)));
  const chunkCount = counted.reduce((sum, file) => sum + file.chunks, 0);
  const keyword = await matchTexts({ chunks, query, chunkCount, limit: maxRows });
  const isSemantic = found.some(({ answer }) => answer?.isSemantic === true);
  const note = found.find(({ answer }) => answer?.note !== undefined)?.answer?.note;
  const isPrivate = options.audience === "private";
  const outcome = outcomeOf(input, places, {
    keyword,
    vector: isSemantic ? { rows: semanticRows(found, chunks, keyword.answer.rows) } : undefined,
    // The words of qmd may be about another query, or name a note.
    degraded: note?.why && (isPrivate ? note.why : sentence("vectors.off")),
    retrievalMs: performance.now() - started,
  });
  if (updates.index.unseen().length > 0) updates.request(unseen.length > own.length ? "soon" : "later");
  // A place in the list of qmd is no similarity.
  for (const result of outcome.results) delete result.vectorScore;
  const missing = filtered?.read ? 0 : unseen.length - own.length;
  const next = missing > 0 ? sentence("next.qmdAgain") : note?.next;
  const answer: SearchOutcome = {
    ...outcome,
    undated: filtered && undatedIn(all.map(rowOf), filtered.asked),
    report: { ...outcome.report, ...(next && { actions: [next] }) },
  };
  return [missing > 0 ? notRead(missing, isFirst) : undefined, filtered?.note].reduce(withNote, answer);
}

function notRead(count: number, isFirst: boolean): SearchCondition {
  return { state: "stale", ...sentence(isFirst ? "qmd.first" : "qmd.behind", { count }), count };
}

/** Waits for the first index of more notes than can be read without. True if there is none even then. */
async function waitForFirstIndex({ updates, record }: QmdContext, signal: AbortSignal): Promise<boolean> {
  const hasIndex = (): boolean => record.files.some(({ seen }) => seen !== undefined);
  if (record.files.length === 0 || hasIndex()) return false;
  const { lastError } = updates;
  if (lastError !== undefined) {
    // A qmd that cannot make an index cannot be asked.
    updates.request("soon");
    throw toMemoryError(lastError.error);
  }
  if (newestFiles(record.files).length === record.files.length) return false;
  const patience = AbortSignal.timeout(firstIndexWaitsMs);
  try {
    await updates.now({ force: false, signal: AbortSignal.any([signal, patience]) });
  } catch (error) {
    signal.throwIfAborted();
    if (!patience.aborted) throw toMemoryError(error);
    updates.request("soon");
  }
  return !hasIndex();
}

interface FoundInPlace {
  files: FoundFile[];
  answer?: QmdAnswer | undefined;
}

async function findIn(
  place: SearchedSource,
  unseenKeys: ReadonlySet<string>,
  { query, options }: SearchInput,
  context: QmdContext,
): Promise<FoundInPlace> {
  const { record, updates, workspaceDir } = context;
  const isWanted = (file: QmdFile): boolean => isIn(file, place) && !unseenKeys.has(keyOf(file));
  const files = record.files.filter(isWanted);
  if (files.length === 0) return { files: [] };
  // The words of hidden notes would change the order of qmd. With models its order counts.
  const mayRead = !context.semantic.isWanted && newestFiles(files).length === files.length;
  if (place.scope !== undefined && (files.length <= fewFiles || mayRead))
    return { files: files.map((file) => ({ file, line: undefined })) };
  const collections = collectionsOf(files, place, updates.index.collections, workspaceDir);
  const limit = place.scope === undefined ? Math.max(wantedFiles, options.maxResults) : wantedOfPart;
  let answer: QmdAnswer;
  try {
    answer = await askQmd({ query, collections, limit, signal: options.signal }, context);
  } catch (error) {
    const reason = error instanceof QmdFailure ? error.reason : undefined;
    if (reason === "index_damaged") await updates.lost(true);
    // qmd reports no collection without documents.
    if (reason === "unknown_collection") await assertNotEmptied(files, context, options.signal);
    throw toMemoryError(error);
  }
  const { found, isLost } = foundFiles(answer.rows, collections, context);
  if (isLost) {
    await updates.restoreCollections();
    throw new MemoryError(
      "UNAVAILABLE",
      `qmd found ${answer.rows.length} notes and none of them exists (mapping_failed): its index is about other folders and is being updated; search again in a moment`,
    );
  }
  if (answer.rows.length === 0) await assertNotEmptied(files, context, options.signal);
  return { files: found.filter(({ file }) => isWanted(file)), answer };
}

/** An empty answer counts only if the index of qmd contains the notes. */
async function assertNotEmptied(
  files: readonly QmdFile[],
  { updates }: QmdContext,
  signal: AbortSignal,
): Promise<void> {
  let status;
  try {
    status = await updates.index.readStatus(signal);
  } catch (error) {
    throw toMemoryError(error);
  }
  if (!updates.index.isEmptied(status, files)) return;
  await updates.lost(false);
  throw new MemoryError(
    "UNAVAILABLE",
    `the index of qmd is empty, though it has read ${files.length} notes; it is being rebuilt, search again in a moment`,
  );
}

function isIn(file: QmdFile, { source, scope }: SearchedSource): boolean {
  return isAsked(file, { sources: [source], scope });
}

/** The collections that contain any of these files: a shared session does not search private ones. */
function collectionsOf(
  files: readonly QmdFile[],
  { source, scope }: SearchedSource,
  all: readonly Collection[],
  workspaceDir: string,
): Collection[] {
  const own = all.filter((collection) => collection.source === source);
  if (scope === undefined || source === "sessions") return own;
  const used = new Set(files.flatMap((file) => collectionsWith(own, path.resolve(workspaceDir, file.path))));
  return own.filter((collection) => used.has(collection));
}

/**
 * One chunk of each file in qmd's order: best by words, else qmd's line, else the first. Score: 1 / (1 + 0.15 × rank).
 */
function semanticRows(
  found: readonly FoundInPlace[],
  chunks: readonly FoundChunk[],
  byWords: readonly ReturnType<typeof rowOf>[],
): ReturnType<typeof rowOf>[] {
  const ranked = found.flatMap(({ files, answer }) =>
    answer?.isSemantic === true ? files.map((each, rank) => ({ ...each, score: 1 / (1 + 0.15 * rank) })) : [],
  );
  return ranked.flatMap(({ file, line, score }) => {
    const best = byWords.find((row) => keyOf(row) === keyOf(file));
    if (best !== undefined) return [{ ...best, score }];
    const own = [...chunks.entries()].filter(([, chunk]) => keyOf(chunk) === keyOf(file));
    const at = own.find(([, { startLine, endLine }]) => line !== undefined && startLine <= line && line <= endLine);
    const [index, chunk] = at ?? own[0] ?? [];
    return index === undefined || chunk === undefined ? [] : [{ ...rowOf(chunk, index), score }];
  });
}

export interface FoundFile {
  file: QmdFile;
  line: number | undefined;
}

/** The memory files of qmd's rows, each once, in order. `isLost`: no row leads to a file. */
export function foundFiles(
  rows: readonly QmdRow[],
  collections: readonly Collection[],
  { record, sessions, workspaceDir }: Pick<QmdContext, "record" | "sessions" | "workspaceDir">,
): { found: FoundFile[]; isLost: boolean } {
  const byKey = new Map<string, FoundFile>();
  const removed = new Set(record.removed());
  const transcripts = lazily(() => record.files.flatMap((file) => (file.source === "sessions" ? [file.path] : [])));
  // Some file systems return names in another Unicode form.
  const composed = lazily(() => new Map(record.files.map((file) => [keyOf(file).normalize("NFC"), file])));
  let existing = 0;
  for (const row of rows) {
    const collection = collections.find(({ name }) => name === row.collection);
    if (collection === undefined) continue;
    const { source, root } = collection;
    const shown =
      source === "sessions" ? sessions.pathOf(row.path, transcripts()) : pathIn(collection, row.path, workspaceDir);
    if (shown === undefined) continue;
    const key = keyOf({ source, path: shown });
    const file = record.get({ source, path: shown }) ?? composed().get(key.normalize("NFC"));
    if (file !== undefined || removed.has(shown) || existsSync(path.resolve(root, row.path))) existing++;
    if (file !== undefined && !byKey.has(keyOf(file))) byKey.set(keyOf(file), { file, line: row.line });
  }
  return { found: [...byKey.values()], isLost: rows.length > 0 && existing === 0 };
}
