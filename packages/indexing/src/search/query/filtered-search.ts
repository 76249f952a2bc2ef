import type { MemorySource, SearchReport, Sentence } from "@memslot/core";
import { joined, sentence, withReasons } from "@memslot/core/host";
import type { NoteIndex } from "../../note-index.ts";
import type { ChunkRow } from "../../index-row-types.ts";
import { placesOf, type SearchedSource, type SearchInput, type SearchOutcome } from "../search-outcome.ts";
import { searchChunks } from "../search.ts";
import { type AskedQuery, askedQuery, filtersOf, filtersRows } from "./query-filters.ts";
import { type FilteredQuestion, listNotes, narrowedPlaces } from "./list-notes.ts";
import type { QueryTerm } from "../../chunk-store.ts";
import { scanTerms } from "../../text/index-terms.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import { fittingPart } from "./chunk-filter.ts";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { queryTerms } from "../../text/query-terms.ts";
import { parseQuery } from "./parse-query.ts";

/** A filtered search; filters apply before the limit. An empty answer names the filter to blame. */
export async function searchFiltered(given: FilteredQuestion): Promise<SearchOutcome> {
  const pasted = await pastedParts(given);
  const asked = pasted.size === 0 ? given.asked : askedQuery(given.query, given.options, given.now, pasted);
  const input = { ...given, asked };
  const outcome = await searchOnce(input);
  if (outcome.results.length > 0 || (outcome.conditions ?? []).length > 0) return outcome;
  const reasons = await whyNothing(input);
  return reasons === undefined ? outcome : { ...outcome, report: withReasons(outcome.report, reasons) };
}

async function searchOnce(input: FilteredQuestion): Promise<SearchOutcome> {
  const { asked, store } = input;
  const options = { ...input.options, sources: asked.sources };
  const places = placesOf(options, input.scope);
  const { places: narrowed, undated } = filtersRows(asked)
    ? await narrowedPlaces(input, places)
    : { places, undated: 0 };
  const scopes = new Map(narrowed.map(({ source, scope }) => [source, scope]));
  const question: FilteredQuestion = {
    ...input,
    options,
    query: asked.words,
    // Filters do not change which year a date means.
    days: input.days && (async () => (await input.days?.(places)) ?? []),
    scope: (source) => (scopes.has(source) ? scopes.get(source) : input.scope(source)),
  };
  const outcome =
    asked.words === ""
      ? await listNotes(question, placesOf(options, question.scope))
      : await searchChunks({ ...question, store: filtersRows(asked) ? filledIndex(input) : store });
  return { ...outcome, report: withFilters(outcome.report, asked, undated) };
}

function withFilters(report: SearchReport, asked: AskedQuery, undated: number): SearchReport {
  return { ...report, filters: { ...filtersOf(asked), ...(undated > 0 && { undated }) } };
}

async function whyNothing(input: FilteredQuestion): Promise<Sentence[] | undefined> {
  const parts = withoutEach(input.asked, input.options.sources);
  if (parts.length === 0) return undefined;
  const found: Sentence[] = [];
  for (const { name, without } of parts) {
    // Without a word and without a filter it is all that there is.
    if (without.words === "" && !filtersRows(without)) continue;
    // Without room for a line, what is found is counted and none of it is read.
    const options = { ...input.options, maxResults: 200, maxTokens: 0 };
    const narrow = { ...input, options, asked: without, vectors: undefined, rerank: undefined, trace: undefined };
    const { found: { passages = 0, more = false } = {} } = (await searchOnce(narrow)).report;
    input.options.signal.throwIfAborted();
    if (passages === 0) continue;
    const results = sentence(more && passages > 1 ? "filter.resultsMore" : "filter.results", { count: passages });
    found.push(sentence("filter.without", { filter: parts.length === 1 ? sentence("filter.it") : name, results }));
  }
  const [only] = parts;
  return [parts.length === 1 && only !== undefined ? only.why : sentence("filter.together"), ...found];
}

/** For a backend with its own search: the filters are applied to its results. */
export async function findFiltered(
  input: SearchInput & { asked: AskedQuery },
  find: (input: SearchInput) => Promise<SearchOutcome>,
): Promise<SearchOutcome> {
  const { asked, options } = input;
  const outcome = await find({ ...input, query: asked.words, options: { ...options, sources: asked.sources } });
  return { ...outcome, report: withFilters(outcome.report, asked, outcome.undated ?? 0) };
}

interface WithoutFilter {
  name: string | Sentence;
  why: Sentence;
  without: AskedQuery;
}

const mostParts = 6;

export function withoutEach(asked: AskedQuery, allSources: readonly MemorySource[]): WithoutFilter[] {
  const parts: WithoutFilter[] = [];
  const nothing = sentence(asked.words === "" ? "filter.no" : "filter.nothing");
  const add = (name: WithoutFilter["name"], why: Sentence, change: Partial<AskedQuery>): void =>
    void parts.push({ name, why, without: { ...asked, ...change } });
  /** Names of filters, and the message for each; `left` are exclusions. */
  const addNamed = (wanted: string[], left: string[], kind: "path" | "tag", change: Partial<AskedQuery>): void => {
    const name = [...wanted, ...left.map((filter) => `-${filter}`)].join(" ");
    const params =
      wanted.length > 0
        ? { what: nothing, filter: name }
        : { what: sentence("filter.all"), filter: joined("list.or", left) };
    if (name !== "") add(name, sentence(`filter.${kind}`, params), change);
  };
  for (const phrase of asked.phrases) {
    const filter = sentence("filter.phrase", { text: phrase.text });
    add(filter, sentence("filter.noPhrase", { filter }), {
      phrases: asked.phrases.filter((other) => other !== phrase),
    });
  }
  if (asked.excluded.length > 0) {
    const name = asked.excluded.map(({ text }) => (text.includes(" ") ? `-"${text}"` : `-${text}`)).join(" ");
    add(name, sentence("filter.excluded", { filter: name }), { excluded: [] });
  }
  const path = ({ text }: { text: string }): string => `path:${text}`;
  addNamed(asked.paths.map(path), asked.excludedPaths.map(path), "path", { paths: [], excludedPaths: [] });
  const tag = (text: string): string => `tag:${text}`;
  addNamed(asked.tags.map(tag), asked.excludedTags.map(tag), "tag", { tags: [], excludedTags: [] });
  if (asked.from !== undefined || asked.to !== undefined) {
    const { since, until } = filtersOf(asked);
    const code = since === undefined ? "filter.until" : until === undefined ? "filter.since" : "filter.between";
    const filter = sentence(code, { ...(since !== undefined && { since }), ...(until !== undefined && { until }) });
    add(filter, sentence("filter.of", { what: nothing, filter }), { from: undefined, to: undefined });
  }
  if (asked.namesSources) {
    const filter = asked.sources.length === 0 ? sentence("filter.source") : joined("list.or", asked.sources);
    const change = { sources: allSources, namesSources: false };
    add("source:", sentence("filter.of", { what: nothing, filter }), change);
  }
  return parts.slice(0, mostParts);
}

/** An index that returns only matching chunks, up to the limit. Its counts are those of all chunks. */
function filledIndex({ store, asked, options: { signal } }: FilteredQuestion): NoteIndex {
  const known = new Map<ChunkRow["id"], ChunkRow | undefined>();
  const partOf = (row: ChunkRow): ChunkRow | undefined => {
    const part = known.has(row.id) ? known.get(row.id) : fittingPart(row, asked);
    known.set(row.id, part);
    return part;
  };
  const filled = async <Answer extends { rows: (ChunkRow & { score: number })[] }>(
    limit: number,
    ask: (limit: number) => Promise<Answer>,
    isFound: (part: ChunkRow) => boolean = () => true,
  ): Promise<Answer> => {
    for (let wanted = limit; ; wanted *= 4) {
      const answer = await ask(wanted);
      const rows = await flatMapInSlices(answer.rows, signal, (row) => {
        const part = partOf(row);
        // Of a chunk of several days only some lines may be left.
        return part === undefined || (part.text !== row.text && !isFound(part)) ? [] : [{ ...part, score: row.score }];
      });
      if (rows.length >= limit || answer.rows.length < wanted) return { ...answer, rows: rows.slice(0, limit) };
    }
  };
  return {
    ...store,
    searchKeyword: (query) =>
      filled(
        query.limit,
        (limit) => store.searchKeyword({ ...query, limit }),
        (part) => holdsTerm(part.text, query.terms),
      ),
    searchVector: (query) => filled(query.limit, (limit) => store.searchVector({ ...query, limit })),
  };
}

function holdsTerm(text: string, terms: readonly QueryTerm[]): boolean {
  let isHeld = false;
  scanTerms(text, (own) => {
    isHeld ||= terms.some(({ term, prefix }) => (prefix ? own.startsWith(term) : own === term));
  });
  return isHeld;
}

const mostPasted = 16;
const chunksPerSource = 100;
const isOption = /^--?(?!(?:path|tag|source|after|before)[:：])(?:\p{N}*\p{L}|\d{4})/u;

/** Query parts that are pasted text: exclusions that would remove the chunk with the very command. */
async function pastedParts({ query, options, store, asked, scope }: FilteredQuestion): Promise<Map<string, string>> {
  const runs = literalRuns(query);
  const terms = queryTerms(redactSecrets(query));
  if (runs.length === 0 || terms.length === 0) return new Map();
  const ask = async (place: SearchedSource): Promise<ChunkRow[]> =>
    (await store.searchKeyword({ terms, sources: [place.source], scope: place.scope, limit: chunksPerSource })).rows;
  const rows = (await Promise.all(placesOf(options, scope).map(ask))).flat();
  const [name = "", ...words] = literalText(query).trim().split(" ");
  const chosen = words.filter((word) => isOption.test(word));
  const pasted = await flatMapInSlices(rows, options.signal, (row) => {
    const text = row.text.replaceAll("\\\n", " ");
    const lines = text.split("\n").map(literalText);
    const isCommand = text.split(/[\n`]/u).some((code) => {
      const line = literalText(code).replace(/^ (?:[^\p{L}\p{N}\s]+ )*(?:sudo )?/u, " ");
      return line.startsWith(` ${name} `) && chosen.every((option) => line.includes(` ${option} `));
    });
    const held = runs.flatMap(([part, run]): typeof runs => {
      if (lines.some((line) => line.includes(run))) return [[part, run]];
      return isCommand && part.startsWith("-") ? [[part, `${name} … ${part}`]] : [];
    });
    return held.length > 0 && fittingPart(row, asked) === undefined ? held : [];
  });
  return new Map(pasted);
}

/** A query with its filters. */
function literalRuns(query: string): [part: string, run: string][] {
  const parts = parseQuery(query).filter((part) => part.kind !== "words");
  const excluded = new Set(parts.flatMap(({ isExcluded, text }) => (isExcluded ? text.toLowerCase() : [])));
  const words = literalText(query).trim().split(" ");
  const isWord = (word: string): boolean => /[\p{L}\p{N}]/u.test(word) && !excluded.has(word);
  return parts.slice(0, mostPasted).flatMap(({ kind, isExcluded, text }) => {
    if (kind === "filter") return words.some((word) => isOption.test(word)) ? [[text, literalText(query)]] : [];
    const at = words.indexOf(text.toLowerCase());
    if (!isExcluded || at < 0) return [];
    const before = words.findLastIndex((word, index) => index < at && isWord(word));
    const after = words.findIndex((word, index) => index > at && isWord(word));
    const runs = [after < 0 ? [] : words.slice(at, after + 1), before < 0 ? [] : words.slice(before, at + 1)];
    return runs.filter(({ length }) => length > 0).map((run) => [text, literalText(run.join(" "))]);
  });
}

/** A line as words separated by spaces, without quotes, brackets, punctuation and case. */
function literalText(line: string): string {
  const words = line.toLowerCase().split(/[\s"'`“”‘’„«»()]+|[.,;!?。，；！？]+(?=\s|$)/u);
  return ` ${words.filter(Boolean).join(" ")} `;
}
