import { messageOf } from "@memslot/core";
import type { ChunkStore, KeywordAnswer, QueryTerm, VectorAnswer } from "./chunk-store.ts";
import type { EmbeddedQuery, Embedder } from "./embedding/embedder.ts";
import { redactSecrets } from "./redact-secrets.ts";
import { outcomeOf, type Place, placesOf, type SearchInput, type SearchOutcome } from "./search-outcome.ts";
import { queryTerms, type SearchTerm } from "./words.ts";

/** Candidates that each leg gives at least, so that there is something to rank, and at most. */
const minCandidates = 100;
const maxCandidates = 200;
/** A word that the index does not know is tried as the beginning of one, from this length on. */
const minPrefixLength = 3;

/**
 * Asks the keyword and the vector leg in parallel, makes one list of both, and cuts snippets. Either leg may be missing
 * or fail: the other answers, and the report says so. If none is left to answer the error of the first is thrown.
 */
export async function searchChunks(
  input: SearchInput & { store: ChunkStore; vectors: Embedder | undefined },
): Promise<SearchOutcome> {
  const { store, settings, options, query } = input;
  const places = placesOf(options, input.scope);
  const started = performance.now();
  const hybrid = settings.query.hybrid;
  const limit = Math.min(maxCandidates, Math.max(minCandidates, options.maxResults * hybrid.candidateMultiplier));
  const vectors = hybrid.enabled ? input.vectors : undefined;
  const useKeywords = store.health().fts.available;

  const [keyword, vector] = await Promise.allSettled([
    // Redacted as the index is: a key that is pasted into a question finds the line that holds it.
    useKeywords ? keywordLeg(store, redactSecrets(query), places, limit) : undefined,
    vectors && places.length > 0 ? vectorLeg(store, vectors, query, places, limit, options.signal) : undefined,
  ]);
  options.signal.throwIfAborted();
  const answered = [keyword, vector].some((leg) => leg.status === "fulfilled" && leg.value !== undefined);
  const failed = [keyword, vector].find((leg) => leg.status === "rejected");
  if (!answered && failed) throw failed.reason;

  const vectorAnswer = vector.status === "fulfilled" ? vector.value : undefined;
  return outcomeOf(input, places, {
    keyword: keyword.status === "fulfilled" ? keyword.value : undefined,
    vector: vectorAnswer,
    degraded: degradation(keyword, vector, useKeywords, store) ?? vectorAnswer?.note,
    fallback: vectorAnswer?.fallback,
    legsMs: performance.now() - started,
  });
}

async function keywordLeg(
  store: ChunkStore,
  query: string,
  places: readonly Place[],
  limit: number,
): Promise<{ answer: KeywordAnswer; terms: SearchTerm[] }> {
  const terms = queryTerms(query);
  const ask = async (asked: readonly QueryTerm[]): Promise<KeywordAnswer> => {
    const answers = await Promise.all(
      places.map(({ source, scope }) => store.searchKeyword({ terms: asked, sources: [source], scope, limit })),
    );
    // How many chunks there are, and how many hold a word, is told of the whole index each time.
    const { chunkCount, documentFrequencies } = answers[0] ?? nothing;
    return { rows: answers.flatMap(({ rows }) => rows), chunkCount, documentFrequencies };
  };
  if (terms.length === 0) return { answer: nothing, terms };
  const answer = await ask(terms);
  const unknown = (index: number, term: SearchTerm): boolean =>
    answer.documentFrequencies[index] === 0 &&
    term.kind === "word" &&
    !term.prefix &&
    term.term.length >= minPrefixLength;
  if (!terms.some((term, index) => unknown(index, term))) return { answer, terms };
  // Words that stand nowhere may be the beginning of some that do.
  const widened = terms.map((term, index) => (unknown(index, term) ? { ...term, prefix: true } : term));
  const wider = await ask(widened);
  return {
    answer: wider,
    terms: widened.map((term, index) => (wider.documentFrequencies[index] === 0 ? (terms[index] ?? term) : term)),
  };
}

const nothing: KeywordAnswer = { rows: [], chunkCount: 0, documentFrequencies: [] };

async function vectorLeg(
  store: ChunkStore,
  vectors: Embedder,
  query: string,
  places: readonly Place[],
  limit: number,
  signal: AbortSignal,
): Promise<VectorAnswer & Pick<EmbeddedQuery, "note" | "fallback">> {
  const { space, vector, note, fallback } = await vectors.embedQuery(query, signal);
  const answers = await Promise.all(
    places.map(({ source, scope }) => store.searchVector({ space, vector, sources: [source], scope, limit })),
  );
  return { rows: answers.flatMap(({ rows }) => rows), note, fallback };
}

function degradation(
  keyword: PromiseSettledResult<unknown>,
  vector: PromiseSettledResult<unknown>,
  useKeywords: boolean,
  store: ChunkStore,
): string | undefined {
  if (vector.status === "rejected") return `keywords answered alone: ${messageOf(vector.reason)}`;
  if (keyword.status === "rejected") return `keyword search failed, meaning answered: ${messageOf(keyword.reason)}`;
  if (!useKeywords) return `keyword search is not available: ${store.health().fts.error ?? "FTS5 is missing"}`;
  return undefined;
}
