import type { ChunkIndex, ChunkRow } from "../../chunk-index.ts";
import type { QueryTerm } from "../../chunk-store.ts";
import { scanTerms } from "../../text/words.ts";
import type { SearchedSource } from "../search-outcome.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import type { AskedQuery } from "./asked-query.ts";
import { needsText } from "./chunk-days.ts";
import type { Phrase } from "./phrase.ts";
import { fitsDays, fitsPlace, fitsTags, fittingPart, limitsDays } from "./row-filter.ts";

type Listed = Pick<ChunkIndex, "listChunks" | "searchKeyword">;

/**
 * Narrows each source to the notes of which a chunk fits, as far as that can be told before anything is looked for. `undated`: how
 * many notes do not fit for want of a day.
 */
export async function narrowedPlaces(
  index: Listed,
  places: readonly SearchedSource[],
  asked: AskedQuery,
  signal: AbortSignal,
): Promise<{ places: SearchedSource[]; undated: number }> {
  let undated = 0;
  const narrowed = await Promise.all(
    places.map(async (place) => {
      let own = place;
      if (limitsDays(asked) || asked.tags.length > 0 || asked.paths.length > 0) {
        const listed = await listedIn(index, place, asked, signal);
        undated += listed.undated;
        own = within(place, listed.paths);
      }
      if (asked.phrases.length === 0 || own.scope?.within.length === 0) return own;
      return within(own, await holdersIn(index, own, asked, signal));
    }),
  );
  return { places: narrowed, undated };
}

/** Paths that are in the scope already are all that is left of it. */
function within({ source }: SearchedSource, paths: Iterable<string>): SearchedSource {
  return { source, scope: { within: [...new Set(paths)], without: [] } };
}

/** The notes with a chunk that fits by its place, its tags and its days, and how many fit but for having no day. */
async function listedIn(
  index: Listed,
  place: SearchedSource,
  asked: AskedQuery,
  signal: AbortSignal,
): Promise<{ paths: Set<string>; undated: number }> {
  const chunks = await listFor(index, place, asked, signal);
  const paths = { fitting: new Set<string>(), dated: new Set<string>(), undated: new Set<string>() };
  await flatMapInSlices(chunks, signal, (chunk) => {
    const fits = fitsDays(chunk, asked);
    if (fits === true) paths.fitting.add(chunk.path);
    paths[fits === "undated" ? "undated" : "dated"].add(chunk.path);
    return [];
  });
  return { paths: paths.fitting, undated: paths.undated.difference(paths.dated).size };
}

/**
 * The chunks of a place that fit by their paths and tags, with the texts of those whose days depend on them, where days are
 * asked for.
 */
export async function listFor(
  index: Pick<ChunkIndex, "listChunks">,
  { source, scope }: SearchedSource,
  asked: AskedQuery,
  signal: AbortSignal,
): Promise<ChunkRow[]> {
  const all = await index.listChunks({ sources: [source], scope, withText: false });
  const isFitting = (chunk: ChunkRow): boolean => fitsPlace(chunk, asked) && fitsTags(chunk, asked);
  const chunks = await flatMapInSlices(all, signal, (chunk) => (isFitting(chunk) ? [chunk] : []));
  const asksDays = limitsDays(asked) || asked.words === "";
  const paths = new Set(asksDays ? chunks.filter(needsText).map(({ path }) => path) : []);
  if (paths.size === 0) return chunks;
  const texts = await index.listChunks({
    sources: [source],
    scope: { within: [...paths], without: [] },
    withText: true,
  });
  const known = new Map(texts.map((row) => [row.id, row]));
  return chunks.map((chunk) => known.get(chunk.id) ?? chunk);
}

/** The notes with a chunk that holds all phrases: looked for by the one word of them that stands in the fewest chunks. */
async function holdersIn(
  index: Listed,
  { source, scope }: SearchedSource,
  asked: AskedQuery,
  signal: AbortSignal,
): Promise<string[]> {
  const choices = asked.phrases.flatMap(waysToFind);
  const terms = choices.flat();
  if (terms.length === 0) return [];
  const { documentFrequencies, chunkCount } = await index.searchKeyword({ terms, sources: [source], scope, limit: 1 });
  const holders = new Map(terms.map((term, at) => [term, documentFrequencies[at] ?? 0]));
  const costOf = (choice: readonly QueryTerm[]): number =>
    choice.reduce((sum, term) => sum + (holders.get(term) ?? 0), 0);
  const [fewest = []] = choices.toSorted((a, b) => costOf(a) - costOf(b));
  // One by one: a store may exclude a very common term beside a rarer one.
  const answers = await Promise.all(
    fewest.map((term) =>
      index.searchKeyword({ terms: [term], sources: [source], scope, limit: Math.max(1, chunkCount) }),
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
