import type { SentenceMeaning } from "./sentences.ts";
import type { SearchOrder, SearchReport } from "./search-report.ts";
import type { MemorySource, NoteLines } from "./status.ts";

/** One search result. */
export interface MemorySearchResult extends NoteLines {
  /** 0 to 1, higher is better. A reranker reassigns the candidates' scores in its order. */
  score: number;
  /** Cosine similarity to the query, -1 to 1. Absent if vector search did not find the result. */
  vectorScore?: number | undefined;
  /** Keyword score, 0 to 1. Absent if keyword search did not find the result. */
  textScore?: number | undefined;
  /** The matching lines, at most 700 characters; `…` marks omitted lines or parts of a line. */
  snippet: string;
  /** Ranges of the snippet's lines in their order. Absent: all lines from `startLine` to `endLine`. */
  lines?: readonly LineRange[] | undefined;
  /** Heading of the section with the first line. Absent if the snippet contains it. */
  heading?: string | undefined;
  /** Titles above the best line, outermost first, if `explain` is set; some may be missing. */
  sections?: readonly string[] | undefined;
  source: MemorySource;
  /** `path#Lfrom-Lto`, if citations are on. */
  citation?: string | undefined;
  /** Parts of the score, if `explain` is set and the manager supports it. Never for a shared audience. */
  parts?: ScoreParts | undefined;
}

/** First and last line, 1-based and inclusive. */
export type LineRange = readonly [from: number, to: number];

/** Options of a search. Defaults come from the agent's settings. Values out of range throw `INVALID_ARGUMENT`. */
export interface MemorySearchOptions {
  /** Maximum number of results, 1 to 200. */
  maxResults?: number | undefined;
  /** `maxResults` if neither the call nor the configuration sets it. Default: 6. */
  defaultMaxResults?: number | undefined;
  /** Token budget for the texts of all results, 100 to 4,000. */
  maxTokens?: number | undefined;
  /** Minimum score, 0 to 1. If set, it also applies to keyword results. */
  minScore?: number | undefined;
  /** Sources to search, at least one. */
  sources?: readonly MemorySource[] | undefined;
  /** First day of results: `2026-03-05`, `2026-03`, `last week`. */
  since?: string | undefined;
  /** Last day of results, in the same forms. */
  until?: string | undefined;
  /** Default: `relevance`. `newest`, `oldest`: by day, among results with at least half of the best score. */
  order?: SearchOrder | undefined;
  /** Key of the calling session, as the host names it. A group or channel never sees private notes. */
  sessionKey?: string | undefined;
  /** True: results carry `parts`, for the owner and if the backend supports it. */
  explain?: boolean | undefined;
  /** Keyword search only: the query is sent to no embedding or rerank provider. */
  keywordsOnly?: boolean | undefined;
  /** False: answers from the index as it is, without a scan for changed files. Default: true. */
  fresh?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Receives the report of the search, also of a failed one. Not called for an aborted search. */
  onDebug?: ((report: SearchReport) => void) | undefined;
}

/** Results of a search and their report. */
export interface SearchAnswer {
  readonly results: MemorySearchResult[];
  readonly report: SearchReport;
}

/** Options of a search as a manager receives them, checked. */
export interface ManagerSearchOptions {
  /** Maximum number of results, 1 to 200. */
  maxResults: number;
  /** Token budget for the texts of all results, 100 to 4,000, see `resultTokens`. */
  maxTokens: number;
  /** Minimum score of results found only by vector search, 0 to 1. */
  minScore: number;
  /** The caller set `minScore`: it also cuts keyword results, except full and identifier matches. */
  strict: boolean;
  /** Sources to search, never empty. To be filtered inside the search, not after it. */
  sources: readonly MemorySource[];
  /** Key of the calling session, for messages; `audience` decides. */
  sessionKey: string | undefined;
  /** True: results carry `parts`. Never true for a shared audience. */
  explain?: boolean | undefined;
  /** True: the query must not be sent to any provider. */
  keywordsOnly?: boolean | undefined;
  /** False: answer from the index as it is, without a scan. */
  fresh?: boolean | undefined;
  /** Readers of the answer. `shared`: private notes are excluded inside the search. */
  audience: SessionAudience;
  /** First day as text. Throws `INVALID_ARGUMENT` if unreadable. `filters` of the report has the applied day. */
  since?: string | undefined;
  /** Last day, likewise. */
  until?: string | undefined;
  /** Absent: `relevance`. Results in another order are not sorted by score. */
  order?: SearchOrder | undefined;
  signal: AbortSignal;
  /** Receives the report: what each retriever found and why results are missing. To be called once per search. */
  onDebug: (report: SearchReport) => void;
}

/** `private`: only the owner of the memory. `shared`: a group, a channel or another person. */
export type SessionAudience = "private" | "shared";

/** Parts of a score; with the reranker's `change` they add up to it. */
export interface ScoreParts {
  /** Matching words of the text. */
  words: number;
  /** Matching names: title, path, tags. */
  names: number;
  /** Matching dates. */
  dates: number;
  /** Vector similarity; 0 without a vector match. */
  meaning: number;
  /** Places before and after the reranker, counted from 1, and the change of the score. */
  rerank?: { before: number; after: number; change: number } | undefined;
}

/** Target of `why`: a note, one of its lines (1-based), or the text of a line. Either `path` or `text`. */
export interface WhyTarget {
  path?: string | undefined;
  line?: number | undefined;
  text?: string | undefined;
}

/** The steps from a file to a result, in their order. */
export type WhyStep =
  | "file"
  | "indexed"
  | "passage"
  | "filters"
  | "words"
  | "meaning"
  | "candidate"
  | "score"
  | "rank"
  | "answer";

/** One step of an explanation. */
export interface WhyRung extends SentenceMeaning {
  step: WhyStep;
  /** `failed`: excluded here. `unknown`: not reached. `note`: partial, but continued. */
  state: "ok" | "note" | "failed" | "unknown";
  /** A sentence without its full stop. */
  says: string;
}

/** A passage in a ranking. */
export interface WhyPlace extends NoteLines {
  /** Counted from 1. */
  rank: number;
  score: number;
  parts: ScoreParts;
}

/** Explanation why a target is or is not among the results of a search. */
export interface SearchWhy extends SentenceMeaning {
  /** Whether it is a result. */
  found: boolean;
  /** The steps from the file to the result, in their order. */
  rungs: readonly WhyRung[];
  /** The first failed step, or the place in the ranking. */
  sentence: string;
  /** The next step, and search options that would return the target. */
  act?:
    | (SentenceMeaning & {
        says: string;
        maxResults?: number | undefined;
        maxTokens?: number | undefined;
        minScore?: number | undefined;
      })
    | undefined;
  /** Its place among all candidates. */
  place?: WhyPlace | undefined;
  /** Number of candidates. */
  candidates?: number | undefined;
  /** The candidate ranked right before it. */
  beatenBy?: WhyPlace | undefined;
}
