import type { SearchReport } from "@memslot/core";
import { sentence, withReasons } from "@memslot/core/host";
import type { ChunkRow } from "../../index-row-types.ts";
import { choosePassages } from "../passages/choose-passages.ts";
import { candidateOf } from "../rank.ts";
import {
  type IndexQuestion,
  linesOf,
  resultOf,
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
} from "../search-outcome.ts";
import type { AskedQuery } from "./query-filters.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import {
  byDay,
  daysOfChunk,
  needsText,
  fitsDays,
  fitsPlace,
  fitsTags,
  fittingPart,
  limitsDays,
  undatedIn,
} from "./chunk-filter.ts";
import { fileName, onlyIn, type QueryTerm } from "../../chunk-store.ts";
import { scanTerms } from "../../text/index-terms.ts";
import type { Phrase } from "./parse-query.ts";

const listedScore = 0.95;
const readAtOnce = 100;

/** A question with its filters. */
export type FilteredQuestion = IndexQuestion & { asked: AskedQuery };

export async function listNotes(input: FilteredQuestion, places: readonly SearchedSource[]): Promise<SearchOutcome> {
  const started = performance.now();
  const { asked, store } = input;
  const { signal, maxResults: wanted } = input.options;
  const listed = await Promise.all(places.map((place) => listFor(input, place)));
  const isFitting = (row: ChunkRow): boolean => fitsDays(row, asked) === true;
  const fitting = await flatMapInSlices(listed.flat(), signal, (row) => (isFitting(row) ? [row] : []));
  const notes = inOrder(fitting, asked);
  const found: ChunkRow[] = [];
  let looked = 0;
  while (found.length < wanted && looked < notes.length) {
    const some = notes.slice(looked, looked + (asked.excluded.length > 0 ? readAtOnce : wanted));
    looked += some.length;
    const texts = await Promise.all(
      places.map(({ source }) => {
        const paths = some.filter((row) => row.source === source).map(({ path }) => path);
        const scope = onlyIn(paths);
        return paths.length === 0 ? [] : store.listChunks({ sources: [source], scope, withText: true });
      }),
    );
    signal.throwIfAborted();
    const parts = await flatMapInSlices(texts.flat(), signal, (row) => [fittingPart(row, asked) ?? []].flat());
    found.push(...inOrder(parts, asked));
  }
  const left = notes.length - looked;
  const isSure = asked.excluded.length === 0;
  return listOf(input, found, {
    left: isSure ? left : 0,
    more: !isSure && left > 0,
    milliseconds: performance.now() - started,
  });
}

export function listRows(input: SearchInput, rows: readonly ChunkRow[], asked: AskedQuery): SearchOutcome {
  const fitting = rows.flatMap((row) => fittingPart(row, asked) ?? []);
  return {
    ...listOf(input, inOrder(fitting, asked), { left: 0, more: false, milliseconds: 0 }),
    undated: undatedIn(rows, asked),
  };
}

function inOrder(rows: readonly ChunkRow[], { order }: AskedQuery): ChunkRow[] {
  const isHead = ({ startLine, text }: ChunkRow): boolean => startLine === 1 && text.startsWith("---\n");
  const notes = Map.groupBy(rows, fileName);
  const firsts = [...notes.values()].flatMap((own) => own.find((row) => !isHead(row)) ?? own.slice(0, 1));
  return byDay(firsts, order, daysOfChunk);
}

function listOf(
  { backend, options }: SearchInput,
  found: readonly ChunkRow[],
  /** `left`: notes that fit and were not read. `more`: there are others, of which it is not known whether they fit. */
  { left, more, milliseconds }: { left: number; more: boolean; milliseconds: number },
): SearchOutcome {
  const kept = found.slice(0, options.maxResults);
  const notes = kept.map((row) => [{ ...candidateOf(row, []), score: listedScore }]);
  const chosen = choosePassages(notes, [], { ...options, keepsOrder: true });
  const { overBudget } = chosen;
  const passages = chosen.passages.filter((passage, at) => chosen.passages[at - 1]?.best !== passage.best);
  const lines = new Map(passages.map((passage) => [resultOf(passage), linesOf(passage)]));
  const report: SearchReport = {
    backend,
    mode: "keyword",
    state: "ok",
    legs: { keyword: { candidates: found.length + left, kept: kept.length } },
    dropped: {
      minScore: 0,
      source: 0,
      limit: found.length + left - kept.length,
      ...(overBudget > 0 && { tokens: overBudget }),
    },
    found: { passages: found.length + left, notes: found.length + left, more },
    // What fits is all that was asked for.
    ...(kept.length > 0 && { confidence: 1 }),
    timingsMs: { list: Math.round(milliseconds * 10) / 10 },
  };
  const reasons = kept.length === 0 ? [sentence("empty.noFit")] : [];
  return { results: [...lines.keys()], report: withReasons(report, reasons), lines };
}

/** Narrows each source to notes that match before the search. `undated`: notes excluded because they have no date. */
export async function narrowedPlaces(
  input: FilteredQuestion,
  places: readonly SearchedSource[],
): Promise<{ places: SearchedSource[]; undated: number }> {
  const { asked } = input;
  const [dated, undated] = [new Set<string>(), new Set<string>()];
  const narrow = async (place: SearchedSource): Promise<SearchedSource> => {
    const fitting = new Set<string>();
    await flatMapInSlices(await listFor(input, place), input.options.signal, (chunk) => {
      const fits = fitsDays(chunk, asked);
      if (fits === true) fitting.add(chunk.path);
      (fits === "undated" ? undated : dated).add(fileName(chunk));
      return [];
    });
    // Paths that are in the scope already are all that is left of it.
    return { ...place, scope: onlyIn(fitting) };
  };
  const isListed = limitsDays(asked) || asked.tags.length > 0 || asked.paths.length > 0;
  const narrowed = await Promise.all(
    places.map(async (place) => {
      const own = isListed ? await narrow(place) : place;
      if (asked.phrases.length === 0 || own.scope?.within.length === 0) return own;
      return { ...own, scope: onlyIn(new Set(await holdersIn(input, own))) };
    }),
  );
  return { places: narrowed, undated: undated.difference(dated).size };
}

/** Chunks that match by path and tags; with text only where a date filter needs it. */
async function listFor(
  { store, asked, options: { signal } }: FilteredQuestion,
  { source, scope }: SearchedSource,
): Promise<ChunkRow[]> {
  const all = await store.listChunks({ sources: [source], scope, withText: false });
  const isFitting = (chunk: ChunkRow): boolean => fitsPlace(chunk, asked) && fitsTags(chunk, asked);
  const chunks = await flatMapInSlices(all, signal, (chunk) => (isFitting(chunk) ? [chunk] : []));
  const asksDays = limitsDays(asked) || asked.words === "";
  const paths = new Set(asksDays ? chunks.filter(needsText).map(({ path }) => path) : []);
  if (paths.size === 0) return chunks;
  const texts = await store.listChunks({ sources: [source], scope: onlyIn(paths), withText: true });
  const known = new Map(texts.map((row) => [row.id, row]));
  return chunks.map((chunk) => known.get(chunk.id) ?? chunk);
}

async function holdersIn(
  { store, asked, options: { signal } }: FilteredQuestion,
  { source, scope }: SearchedSource,
): Promise<string[]> {
  const choices = asked.phrases.flatMap(waysToFind);
  const terms = choices.flat();
  if (terms.length === 0) return [];
  const { documentFrequencies, chunkCount } = await store.searchKeyword({ terms, sources: [source], scope, limit: 1 });
  const holders = new Map(terms.map((term, at) => [term, documentFrequencies[at] ?? 0]));
  const costOf = (choice: readonly QueryTerm[]): number =>
    choice.reduce((sum, term) => sum + (holders.get(term) ?? 0), 0);
  const [fewest = []] = choices.toSorted((a, b) => costOf(a) - costOf(b));
  // One by one: a store may exclude a very common term beside a rarer one.
  const answers = await Promise.all(
    fewest.map((term) =>
      store.searchKeyword({ terms: [term], sources: [source], scope, limit: Math.max(1, chunkCount) }),
    ),
  );
  const found = new Map<ChunkRow["id"], ChunkRow>(answers.flatMap(({ rows }) => rows.map((row) => [row.id, row])));
  return await flatMapInSlices(found.values(), signal, (row) => (fittingPart(row, asked) ? [row.path] : []));
}

/** For each word of a phrase the terms of which a chunk that holds the phrase has one. */
function waysToFind({ text, words }: Phrase): QueryTerm[][] {
  const runs = new Set<string>();
  scanTerms(text, (term, _start, _end, kind) => {
    if (kind === "pair" || kind === "single") for (const character of term) runs.add(character);
  });
  return words.map(({ term }, at) => {
    // Of a script without spaces the index has pairs, each of which begins with its first character.
    const own: QueryTerm[] = [{ term, prefix: runs.has(term) }];
    for (const [before, { wholes }] of words.slice(0, at + 1).entries())
      for (const [length, whole] of wholes)
        if (length > 1 && before + length > at) own.push({ term: whole, prefix: false });
    return own;
  });
}
