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

/** How many candidates a retriever gave and how many of them are in the answer. */
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
  /** The worst of what is the case: `unavailable`, `degraded`, `stale`, `ok`. */
  state: SearchState;
  /** Why the state is not `ok`, all of it, joined by `; `; or why nothing was found. */
  reason?: string | undefined;
  /** Each thing that is the case, one by one. A manager may leave it out; what an application gets always has it. */
  conditions?: readonly SearchCondition[] | undefined;
  /** What a person can do about it. */
  action?: string | undefined;
  legs: { keyword?: SearchLeg | undefined; vector?: SearchLeg | undefined };
  /** The same by source: what each source gave, over both legs. */
  sources?: readonly (SearchLeg & { source: MemorySource })[] | undefined;
  /** Results that were found and not returned, by what dropped them. */
  dropped: {
    minScore: number;
    source: number;
    /** For `maxResults`. */
    limit: number;
    /** For `maxTokens`. */
    tokens?: number | undefined;
    /** Private notes that were found for a shared session. Not to be told there: it says what the notes hold. */
    audience?: number | undefined;
    /** Results of notes that stand neither in the workspace nor in `extraPaths`: a mistake of the plugin. */
    outside?: number | undefined;
    /** Results of the same lines of the same file: the best one is returned. */
    duplicate?: number | undefined;
  };
  /** All that matches, whether or not it is returned. Absent: the manager does not tell. */
  found?: FoundCounts | undefined;
  /**
   * How much of what the query asks for is in one place of what is shown, 0 to 1, by its words, or how near that is in
   * meaning. Under 0.4 the match is weak. Absent when the keyword search did not run.
   */
  confidence?: number | undefined;
  /** The same in words. Absent when the keyword search did not run, or the manager does not tell. */
  match?: SearchMatch | undefined;
  /** How the question was read and what was filtered by it. Absent: it was words and nothing else. */
  filters?: SearchFilters | undefined;
  /**
   * How meaning was added to words: one standard deviation of cosine (`deviation`, around `mean`, over the space) is
   * worth `weight` of keyword score. Absent if only one of them was searched.
   */
  meaning?: { weight: number; mean: number; deviation: number } | undefined;
  /** Words that were read otherwise, as they stand nowhere: `"postgress" was read as Postgres`. Absent if none was. */
  readings?: readonly WordReading[] | undefined;
  /** Absent if all notes that the session may see are searched, or the manager does not tell. */
  excluded?: ExcludedNotes | undefined;
  /** What was not looked at, where the answer is empty or weak. Never told to others than the owner. */
  unsearched?: UnsearchedFiles | undefined;
  fallback?: MemoryFallback | undefined;
  /** What the reranker did. Absent if none is configured, or where there was nothing to put into order. */
  rerank?: RerankReport | undefined;
  /** Milliseconds spent, by step. */
  timingsMs?: Readonly<Record<string, number>> | undefined;
}

/** `newest` and `oldest`: by the days that the found lines are of; `relevance`: the best match first. */
export type SearchOrder = "relevance" | "newest" | "oldest";

/**
 * How a question was read, if it is more than words, and what was excluded by it. Days are `YYYY-MM-DD` where the
 * process is, both included.
 */
export interface SearchFilters {
  /** What is left of the question to look for. */
  words: string;
  /** Each result holds each of them: their words, consecutive. */
  phrases?: readonly string[] | undefined;
  /** Words and phrases that no result holds. */
  excluded?: readonly string[] | undefined;
  /** Beginnings of paths, or patterns. A result lies at one of them, and at none of `excludedPaths`. */
  paths?: readonly string[] | undefined;
  excludedPaths?: readonly string[] | undefined;
  /** A result is of a note with each of them, or with one below it, and with none of `excludedTags`. */
  tags?: readonly string[] | undefined;
  excludedTags?: readonly string[] | undefined;
  sources?: readonly MemorySource[] | undefined;
  since?: string | undefined;
  until?: string | undefined;
  order: SearchOrder;
  /** Notes that fit otherwise and were excluded as no day of theirs is known. */
  undated?: number | undefined;
  /** What looks like a filter and was taken for words, with the reason. */
  unread?: readonly string[] | undefined;
}

/** How much matches a question. */
export interface FoundCounts {
  /**
   * The results, further places of their notes that hold words of the query, and one for each note of which nothing is
   * returned.
   */
  passages: number;
  notes: number;
  /** True: incomplete, there may be more of both. */
  more: boolean;
}

/** Whether the results answer the question, as far as words and meaning tell. They are shown all the same. */
export interface SearchMatch {
  /** `none`: a name of the question, or an identifier, is in none of them. `weak`: its words do not stand together. */
  level: "strong" | "weak" | "none";
  /** Why it is not strong: a sentence without its full stop. */
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
