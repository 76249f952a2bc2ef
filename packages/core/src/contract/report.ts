import type { RerankReport } from "./reranker.ts";
import type { ExcludedNotes, MemoryFallback, MemorySource } from "./status.ts";

/** Whether an answer can be taken at face value. */
export type SearchState = "ok" | "stale" | "degraded" | "unavailable";

/** One thing that keeps an answer from being taken at face value. */
export interface SearchCondition {
  state: "stale" | "degraded";
  /** A sentence without its full stop, for people and models. */
  reason: string;
  /** How many files or chunks it is about, where that is known. */
  count?: number | undefined;
}

export interface SearchLeg {
  candidates: number;
  kept: number;
}

/** A word of the query that is in none of the notes that were searched, and what was looked for in its place. */
export interface WordReading {
  /** As the query writes it: `postgress`. */
  word: string;
  /** As the notes write it: `Postgres`. */
  as: string;
}

/** Why an answer is what it is. An empty list of results is only to be believed when `state` is `ok`. */
export interface SearchReport {
  backend: string;
  mode: "hybrid" | "keyword" | "vector";
  /** The worst state that applies: `unavailable`, `degraded`, `stale`, `ok`. */
  state: SearchState;
  /** All reasons why the state is not `ok`, joined by `; `, or why nothing was found. */
  reason?: string | undefined;
  /** Every condition. Optional for a manager, always present for an application. */
  conditions?: readonly SearchCondition[] | undefined;
  /** What a person can do about it. */
  action?: string | undefined;
  legs: { keyword?: SearchLeg | undefined; vector?: SearchLeg | undefined };
  /** The same by source, over both retrievers. */
  sources?: readonly (SearchLeg & { source: MemorySource })[] | undefined;
  /** Results that were found and not returned, by what dropped them. */
  dropped: {
    minScore: number;
    source: number;
    /** For `maxResults`. */
    limit: number;
    tokens?: number | undefined;
    /** Private notes found for a shared session. Never reported there, as it reveals their content. */
    audience?: number | undefined;
    /** Results outside the workspace and `extraPaths`: a plugin error. */
    outside?: number | undefined;
    duplicate?: number | undefined;
  };
  /** All that matches, whether or not it is returned. Absent: the manager does not tell. */
  found?: FoundCounts | undefined;
  /** Coverage of the query in one place of the results, 0 to 1; weak under 0.4. Absent without keyword search. */
  confidence?: number | undefined;
  /** The same in words. Absent when the keyword search did not run, or the manager does not tell. */
  match?: SearchMatch | undefined;
  /** How the query was parsed and filtered. Absent: plain words. */
  filters?: SearchFilters | undefined;
  /** Semantic weight: keyword score for one standard deviation of cosine. Absent if only one retriever ran. */
  meaning?: { weight: number; mean: number; deviation: number } | undefined;
  /** Corrected terms: `"postgress" was read as Postgres`. Absent if there are none. */
  readings?: readonly WordReading[] | undefined;
  /** Absent if all notes that the session may see are searched, or the manager does not tell. */
  excluded?: ExcludedNotes | undefined;
  /** Unsearched files, if the answer is empty or weak. For the owner only. */
  unsearched?: UnsearchedFiles | undefined;
  fallback?: MemoryFallback | undefined;
  /** What the reranker did. Absent if none is configured, or where there was nothing to put into order. */
  rerank?: RerankReport | undefined;
  /** Milliseconds spent, by step. */
  timingsMs?: Readonly<Record<string, number>> | undefined;
}

/** `newest` and `oldest`: by the days that the found lines are of; `relevance`: the best match first. */
export type SearchOrder = "relevance" | "newest" | "oldest";

/** How a query was parsed and what was excluded. Days are local `YYYY-MM-DD`, both included. */
export interface SearchFilters {
  /** What is left of the question to look for. */
  words: string;
  /** Each result holds each of them: their words, consecutive. */
  phrases?: readonly string[] | undefined;
  /** Words and phrases that no result holds. */
  excluded?: readonly string[] | undefined;
  /** Path prefixes or patterns; a result matches one of them and none of `excludedPaths`. */
  paths?: readonly string[] | undefined;
  excludedPaths?: readonly string[] | undefined;
  /** A result has each of these tags or a tag below it, and none of `excludedTags`. */
  tags?: readonly string[] | undefined;
  excludedTags?: readonly string[] | undefined;
  sources?: readonly MemorySource[] | undefined;
  since?: string | undefined;
  until?: string | undefined;
  order: SearchOrder;
  /** Matching notes that were excluded because they have no date. */
  undated?: number | undefined;
  /** Text that resembles a filter but was treated as words, with the reason. */
  unread?: readonly string[] | undefined;
}

export interface FoundCounts {
  /** The results, further matching passages of their notes, and one for each note without a result. */
  passages: number;
  notes: number;
  more: boolean;
}

/** Whether the results answer the query, judged by words and meaning. */
export interface SearchMatch {
  /** `none`: a name or identifier of the query has no match. `weak`: its words are scattered. */
  level: "strong" | "weak" | "none";
  reason?: string | undefined;
}

/** Markdown files below the workspace that are no part of the memory. `memorySearch.extraPaths` takes them in. */
export interface UnsearchedFiles {
  files: number;
  /** True: the count was ended before its end, there may be more. */
  more: boolean;
  /** Folders of the workspace that hold them, those with the most first, at most five. */
  folders: readonly string[];
}
