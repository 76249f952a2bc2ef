import type { RerankReport } from "./reranker.ts";
import type { Sentence, SentenceMeaning } from "./sentences.ts";
import type { ExcludedNotes, MemoryFallback, MemorySource } from "./status.ts";

/** Reliability of an answer: complete and current, out of date, reduced in quality, or none at all. */
export type SearchState = "ok" | "stale" | "degraded" | "unavailable";

/** One reason why an answer is less reliable. */
export interface SearchCondition extends Sentence {
  state: "stale" | "degraded";
  /** Number of affected files or chunks, if known. */
  count?: number | undefined;
}

/** What one retriever found. */
export interface SearchLeg {
  /** Number of candidates. */
  candidates: number;
  /** Number of returned results among them. */
  kept: number;
}

/** A term of the query without a match, and the correction that was searched instead. */
export interface WordReading {
  /** As in the query: `postgress`. */
  word: string;
  /** As in the notes: `Postgres`. */
  as: string;
}

/** Report of a search. Only with the state `ok` does an empty list of results mean that nothing matches. */
export interface SearchReport {
  /** Id of the memory plugin that answered. */
  backend: string;
  /** Retrievers that were used. */
  mode: "hybrid" | "keyword" | "vector";
  /** The worst state that applies: `unavailable`, `degraded`, `stale`, `ok`. */
  state: SearchState;
  /** All reasons why the state is not `ok`, joined by `; `, or why nothing was found. */
  reason?: string | undefined;
  /** The parts of `reason`, in their order. Optional for a manager, as `reason` for an application. */
  reasons?: readonly Sentence[] | undefined;
  /** Every condition. Optional for a manager, always present for an application. */
  conditions?: readonly SearchCondition[] | undefined;
  /** The next step, for people. */
  action?: string | undefined;
  /** The parts of `action`, each with its full stop. */
  actions?: readonly Sentence[] | undefined;
  /** What each retriever found; absent for one that did not run. */
  legs: { keyword?: SearchLeg | undefined; vector?: SearchLeg | undefined };
  /** The same by source, over both retrievers. */
  sources?: readonly (SearchLeg & { source: MemorySource })[] | undefined;
  /** Number of results that were found and not returned, by reason. */
  dropped: {
    /** Below the minimum score. */
    minScore: number;
    /** From a source that was not requested. */
    source: number;
    /** Beyond `maxResults`. */
    limit: number;
    /** Beyond the token budget. */
    tokens?: number | undefined;
    /** Private notes found for a shared session. Never reported there, as it reveals their content. */
    audience?: number | undefined;
    /** Results outside the workspace and `extraPaths`: a plugin error. */
    outside?: number | undefined;
    duplicate?: number | undefined;
  };
  /** Counts of everything that matches, returned or not. Absent if the manager does not report it. */
  found?: FoundCounts | undefined;
  /** Coverage of the query in one place of the results, 0 to 1; weak under 0.4. Absent without keyword search. */
  confidence?: number | undefined;
  /** Verdict on the match. Absent if keyword search did not run or the manager does not report it. */
  match?: SearchMatch | undefined;
  /** How the query was parsed and filtered. Absent: plain words. */
  filters?: SearchFilters | undefined;
  /** Semantic weight: keyword score for one standard deviation of cosine. Absent if only one retriever ran. */
  meaning?: { weight: number; mean: number; deviation: number } | undefined;
  /** Corrected terms: `"postgress" was read as Postgres`. Absent if there are none. */
  readings?: readonly WordReading[] | undefined;
  /** Notes that are not searched. Absent if all are, or the manager does not report it. */
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
  /** The query without filters. */
  words: string;
  /** Exact phrases: every result contains each of them. */
  phrases?: readonly string[] | undefined;
  /** Words and phrases that no result contains. */
  excluded?: readonly string[] | undefined;
  /** Path prefixes or globs: every result matches one of them and none of `excludedPaths`. */
  paths?: readonly string[] | undefined;
  excludedPaths?: readonly string[] | undefined;
  /** Tags: every result has each of them, or a tag below it, and none of `excludedTags`. */
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
  /** The same as sentences. */
  unreadReasons?: readonly Sentence[] | undefined;
}

/** Counts of everything that matches. */
export interface FoundCounts {
  /** The results, further matching passages of their notes, and one for each note without a result. */
  passages: number;
  /** Notes with a match. */
  notes: number;
  /** True: the counts are lower bounds. */
  more: boolean;
}

/** Whether the results answer the query, judged by words and meaning. */
export interface SearchMatch extends SentenceMeaning {
  /** `none`: a name or identifier of the query has no match. `weak`: its words are scattered. */
  level: "strong" | "weak" | "none";
  /** Why the match is not strong: a sentence without its full stop. */
  reason?: string | undefined;
}

/** Markdown files below the workspace that do not belong to the memory. `memorySearch.extraPaths` adds them. */
export interface UnsearchedFiles {
  files: number;
  /** True: the count was cut short, there may be more. */
  more: boolean;
  /** Their folders, those with the most files first, at most five. */
  folders: readonly string[];
}
