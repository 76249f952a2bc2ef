import type { Sentence } from "@memslot/core";
import { sentence, sentenceIn, sentenceOf } from "@memslot/core/host";
import { byRarity, isLarge } from "../text/bm25.ts";
import type { ChunkRow, IndexKeywordAnswer } from "../index-row-types.ts";
import type { PathScope, QueryTerm } from "../chunk-store.ts";
import type { AskedQuery } from "./query/query-filters.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { EmbeddedQuery } from "../embedding/query.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import {
  filledPlaces,
  type IndexQuestion,
  outcomeOf,
  placesOf,
  rankingOf,
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
  withMore,
} from "./search-outcome.ts";
import { movedNotes } from "./moved-notes.ts";
import type { Retrieved, RetrievedByVector } from "./rank.ts";
import { type QueryTimes, readTimes } from "../text/times/read-times.ts";
import { queryTerms } from "../text/query-terms.ts";
import { askWords, type WordsFound } from "./words/search-words.ts";
import type { WordSource } from "./words/word-source.ts";
import { isoDate } from "../text/times/calendar.ts";
import type { MatchedPeriod } from "../text/times/note-days.ts";

const minCandidates = 100;
const maxCandidates = 200;
/** The same where the newest or the oldest of them are asked for: any of the matches may be one. */
const orderedCandidates = 5000;

/** A question, the places that it is asked in, those of them with chunks, and how many rows of each are wanted. */
interface Run extends IndexQuestion {
  places: readonly SearchedSource[];
  filled: readonly SearchedSource[];
  limit: number;
}

/** Runs both retrievers in parallel and merges them. Throws the first error if both fail. */
export async function searchChunks(input: IndexQuestion): Promise<SearchOutcome> {
  const { store, options } = input;
  const started = performance.now();
  const run = runOf(input);
  const times = await timesOf(run);
  const useKeywords = store.health().fts.available;
  const byTime = useKeywords ? retrieveByTime(run, times) : undefined;
  const byWords = useKeywords ? retrieveByWords(run, wordsOf(redactSecrets(input.query), input.asked)) : undefined;
  const vectors = input.settings.query.hybrid.enabled ? input.vectors : undefined;
  const [keyword, vector] = await Promise.allSettled([
    byWords,
    vectors && (await isAnythingSeen(run, byWords)) ? retrieveByVector(run, vectors) : undefined,
  ]);
  const ofTime = (await byTime?.catch(() => [])) ?? [];
  options.signal.throwIfAborted();
  const [words, near] = [keyword, vector].map((leg) => (leg.status === "fulfilled" ? leg.value : undefined)) as [
    WordsFound | undefined,
    Awaited<ReturnType<typeof retrieveByVector>> | undefined,
  ];
  const failed = [keyword, vector].find((leg) => leg.status === "rejected");
  if (words === undefined && near === undefined && failed) throw failed.reason;

  const rows = [words?.answer.rows ?? [], ofTime];
  return await rerankedOutcome(run, {
    isCut: isFull(run, [...rows, near?.rows.filter(({ score }) => score >= options.minScore) ?? []]),
    keyword: words,
    vector: near,
    times,
    ofTime,
    moved: await movedNotes(rows.flat(), store, run.places),
    degraded: (await degradation(run, keyword, vector)) ?? noteOn(near, options),
    fallback: near?.fallback,
    retrievalMs: performance.now() - started,
  });
}

function runOf(input: IndexQuestion): Run {
  const { maxResults, order = "relevance" } = input.options;
  const places = placesOf(input.options, input.scope);
  const wanted = maxResults * input.settings.query.hybrid.candidateMultiplier;
  const relevant = Math.min(maxCandidates, Math.max(minCandidates, wanted));
  const limit = order === "relevance" ? relevant : orderedCandidates;
  return { ...input, places, filled: filledPlaces(places, input.stats), limit };
}

function isFull({ places, limit }: Run, legs: readonly (readonly ChunkRow[])[]): boolean {
  return legs.some((rows) => places.some(({ source }) => rows.filter((row) => row.source === source).length >= limit));
}

/** The outcome in the order of the reranker, where there is one. A list of days keeps its own. */
async function rerankedOutcome(run: Run, legs: Retrieved): Promise<SearchOutcome> {
  const { rerank, options, places } = run;
  if (rerank === undefined || legs.times?.isOnlyTime === true || (options.order ?? "relevance") !== "relevance")
    return outcomeOf(run, places, legs);
  const ranking = rankingOf(run, legs);
  const { candidates, report } = await rerank.order(run, ranking);
  const outcome = outcomeOf(run, places, legs, { ...ranking, candidates });
  if (report === undefined) return outcome;
  const { state, reason, ms, ...why } = report;
  const told = { ...outcome.report, rerank: report, timingsMs: { ...outcome.report.timingsMs, rerank: ms } };
  return withMore(
    { ...outcome, report: told },
    state === "failed" && reason ? [{ state: "degraded", ...sentenceIn({ ...why, reason }) }] : [],
  );
}

async function timesOf({ query, now, days, places }: Run): Promise<QueryTimes> {
  const times = readTimes(query, { now });
  if (times.periods.length === 0 || days === undefined) return times;
  return readTimes(query, { now, days: await days(places) });
}

/** The chunks of notes of these times, whether or not they hold a word of the query. */
async function retrieveByTime({ store, filled, limit }: Run, { periods }: QueryTimes): Promise<ChunkRow[]> {
  const terms = timeTerms(periods);
  if (terms.length === 0) return [];
  const answers = await Promise.all(
    filled.map(({ source, scope }) => store.searchKeyword({ terms, sources: [source], scope, limit })),
  );
  return answers.flatMap(({ rows }) => rows);
}

/** For a shared audience, a search over nothing is skipped, so that it reveals nothing. */
async function isAnythingSeen({ options, places }: Run, byWords: Promise<WordsFound> | undefined): Promise<boolean> {
  if (places.length === 0 || options.audience === "private") return places.length > 0;
  const leg = await byWords?.catch(() => undefined);
  return leg === undefined || leg.answer.chunkCount > 0;
}

function wordsOf(query: string, asked: AskedQuery | undefined): string {
  return [query, ...(asked?.phrases ?? []).map(({ text }) => text)].join(" ").trim();
}

async function retrieveByWords(run: Run, query: string): Promise<WordsFound> {
  const { store, languages, revision, stats, places, filled, limit } = run;
  const isNarrowed = places.some(({ scope }) => scope !== undefined);
  const counting = isNarrowed ? filled : places.slice(0, 1).map(() => ({ source: noSource, scope: undefined }));
  const ask = async (asked: readonly QueryTerm[], among: readonly SearchedSource[], most: number) =>
    await Promise.all(
      among.map(({ source, scope = isNarrowed ? everything : undefined }) =>
        store.searchKeyword({ terms: asked, sources: [source], scope, limit: most }),
      ),
    );
  // Without a scope, how many chunks there are, and how many contain a word, is always reported for the whole index.
  const countsOf = (answers: readonly IndexKeywordAnswer[], terms: number): Counts =>
    isNarrowed ? sumOf(answers, terms) : (answers[0] ?? nothing);
  let isWhole = true;
  const source: WordSource = {
    find: async (asked, { most = limit, isCountEnough } = {}) => {
      // Counting is cheap compared to finding all chunks with a common term, except with a scope.
      const countsFirst = !isNarrowed && isLarge(stats?.chunks ?? 0);
      let answers = await ask(asked, countsFirst ? counting : filled, countsFirst ? 1 : most);
      const { chunkCount, documentFrequencies } = countsOf(answers, asked.length);
      // Rare terms choose the candidates; all terms weigh them.
      const { rare, common } = byRarity(asked, documentFrequencies, chunkCount);
      const isChosen = countsFirst
        ? isCountEnough?.(documentFrequencies) !== true
        : rare.length > 0 && common.length > 0;
      for (const some of isChosen ? [rare, common] : []) {
        if (some.length > 0) answers = await ask(some, filled, most);
        if (answers.some(({ rows }) => rows.length > 0)) break;
      }
      const incomplete = answers.find((answer) => answer.incomplete !== undefined)?.incomplete;
      return { rows: answers.flatMap(({ rows }) => rows), chunkCount, documentFrequencies, incomplete };
    },
    count: async (asked) => {
      const answers = await ask(asked, counting, 1);
      isWhole = answers.every((answer) => answer.incomplete === undefined);
      return countsOf(answers, asked.length).documentFrequencies;
    },
    ...(languages && {
      remember: async (count) =>
        await languages.of(isNarrowed && places, revision ?? (await store.revision()), count, () => isWhole),
    }),
  };
  if (queryTerms(query).length > 0) return await askWords(query, source);
  const { chunkCount } = isNarrowed ? await source.find([noWord]) : nothing;
  return { answer: { ...nothing, chunkCount }, terms: [], readings: [] };
}

const noSource = "none";

/** Stands in no text, as no word holds a space: what is asked for with it is only counted. */
const noWord: QueryTerm = { term: " ", prefix: false };

const everything: PathScope = { within: [""], without: [] };

type Counts = Pick<IndexKeywordAnswer, "chunkCount" | "documentFrequencies">;

function sumOf(answers: readonly IndexKeywordAnswer[], terms: number): Counts {
  const frequencyOf = (index: number): number =>
    answers.reduce((sum, { documentFrequencies }) => sum + (documentFrequencies[index] ?? 0), 0);
  return {
    chunkCount: answers.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
    documentFrequencies: Array.from({ length: terms }, (_, index) => frequencyOf(index)),
  };
}

const nothing: IndexKeywordAnswer = { rows: [], chunkCount: 0, documentFrequencies: [] };

async function retrieveByVector(
  { store, query, filled, limit, options: { signal, audience } }: Run,
  vectors: Embedder,
): Promise<RetrievedByVector & Pick<EmbeddedQuery, "note" | "fallback">> {
  const { space, vector, note, fallback } = await vectors.embedQuery(query, signal);
  const search = Promise.all(
    filled.map(({ source, scope }) => store.searchVector({ space, vector, sources: [source], scope, limit })),
  );
  // For a shared audience the scale comes from visible chunks only.
  const [answers, scale] = await Promise.all([
    search,
    audience === "shared" ? undefined : vectors.scaleOf(space, vector),
  ]);
  return { rows: answers.flatMap(({ rows }) => rows), scale, note, fallback };
}

async function degradation(
  { store, options }: Run,
  keyword: PromiseSettledResult<WordsFound | undefined>,
  vector: PromiseSettledResult<unknown>,
): Promise<Sentence | undefined> {
  if (vector.status === "rejected")
    return sentence("search.noMeaning", { error: await whyNoVector(vector.reason, options) });
  if (keyword.status === "rejected")
    return options.audience === "shared"
      ? sentence("search.noWords")
      : sentence("search.wordsFailed", { error: sentenceOf(keyword.reason) });
  if (keyword.value?.answer.incomplete !== undefined) return { reason: keyword.value.answer.incomplete };
  if (keyword.value !== undefined) return undefined;
  return sentence("search.fts", { error: store.health().fts.error ?? "FTS5 is missing" });
}

/** Counts of missing vectors and provider errors concern all notes, so a shared audience does not get them. */
async function whyNoVector(error: unknown, { audience }: SearchInput["options"]): Promise<Sentence> {
  if (audience !== "shared") return sentenceOf(error);
  const { NotFilled } = await import("../embedding/query.ts");
  return sentence(error instanceof NotFilled ? "search.unfilled" : "search.unembedded");
}

function noteOn(
  answer: Pick<EmbeddedQuery, "note"> | undefined,
  { audience }: SearchInput["options"],
): Sentence | undefined {
  if (answer?.note === undefined) return undefined;
  return audience === "shared" ? sentence("search.otherModel") : answer.note;
}

/** A longer range is searched by months, or by years. */
const maxDays = 45;
const maxMonths = 30;
const maxTerms = 64;

/** Index terms of dates: `2026-03-05` or `2026-03`, likeliest first. None for long open ranges. */
export function timeTerms(periods: readonly MatchedPeriod[]): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const take = (term: string, prefix: boolean): void => void terms.set(term, { term, prefix });
  for (const period of periods.toSorted((a, b) => a.rank - b.rank)) {
    if (period.isOpen && period.to - period.from > 366 * 2) continue;
    if (period.to - period.from < maxDays) {
      for (let day = period.from; day <= period.to; day++) take(isoDate(day), false);
      for (const month of new Set([isoDate(period.from).slice(0, 7), isoDate(period.to).slice(0, 7)]))
        take(month, false);
    } else for (const part of partsOf(period)) take(part, true);
  }
  return [...terms.values()].slice(0, maxTerms);
}

/** Months as `2026-03`, or years as `2026-`: the beginnings of their days. */
function partsOf({ from, to }: MatchedPeriod): string[] {
  const months = new Set<string>();
  for (let day = from; day <= to; day += 28) months.add(isoDate(day).slice(0, 7));
  months.add(isoDate(to).slice(0, 7));
  return months.size <= maxMonths ? [...months] : [...new Set([...months].map((month) => month.slice(0, 5)))];
}
