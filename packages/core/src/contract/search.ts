import type { SearchOrder, SearchReport } from "./report.ts";
import type { MemorySource, NoteLines } from "./status.ts";

/** One ranked answer. */
export interface MemorySearchResult extends NoteLines {
  /** 0 to 1, higher is better. A reranker reassigns the candidates' scores in its order. */
  score: number;
  /** Cosine similarity to the query, where the vector search saw this result. */
  vectorScore?: number | undefined;
  /** Keyword score, 0 to 1, where the keyword search found this result. */
  textScore?: number | undefined;
  /** The matching lines, at most 700 characters; `…` marks omitted lines or parts of a line. */
  snippet: string;
  /** Which lines the snippet is of, in their order, where it is not all of them from `startLine` to `endLine`. */
  lines?: readonly LineRange[] | undefined;
  /** The heading that the first of these lines stands under, where the snippet does not show it. */
  heading?: string | undefined;
  source: MemorySource;
  /** `path#Lfrom-Lto`, where citations are on. */
  citation?: string | undefined;
  /** What the score is made of, where `explain` was asked for and the manager can tell. Never for a shared audience. */
  parts?: ScoreParts | undefined;
}

/** First and last line, 1-based and inclusive. */
export type LineRange = readonly [from: number, to: number];

/** Options of a search; what is omitted comes from the agent's settings. */
export interface MemorySearchOptions {
  /** 1 to 200. */
  maxResults?: number | undefined;
  /** What `maxResults` is where neither this call nor the configuration says; 6 if omitted. */
  defaultMaxResults?: number | undefined;
  /** 100 to 4,000 estimated tokens for all texts. Default: the configuration, or 1,000. */
  maxTokens?: number | undefined;
  minScore?: number | undefined;
  sources?: readonly MemorySource[] | undefined;
  /** First and last day of results, both included: `2026-03-05`, `2026-03`, `last week`. Throws `INVALID_ARGUMENT`. */
  since?: string | undefined;
  until?: string | undefined;
  /** `newest` or `oldest`: those that match at least half as well as the best, by their days. @default "relevance" */
  order?: SearchOrder | undefined;
  /** The session that asks, as the host names it. A group or a channel never sees private notes. */
  sessionKey?: string | undefined;
  /** True: each result says what its score is made of (`parts`), to the owner and where the backend can tell. */
  explain?: boolean | undefined;
  /** Keyword search only: the query is sent to no embedding or rerank provider. */
  keywordsOnly?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onDebug?: ((report: SearchReport) => void) | undefined;
}

/** What a search found, and its report: whether the answer can be relied on, and what each retriever gave. */
export interface SearchAnswer {
  readonly results: MemorySearchResult[];
  readonly report: SearchReport;
}

export interface ManagerSearchOptions {
  /** 1 to 200. */
  maxResults: number;
  /** 100 to 4,000: estimated tokens that the texts of all results have together, see `resultTokens`. */
  maxTokens: number;
  /** 0 to 1. Results that only the vector search found need at least this score. */
  minScore: number;
  /** The caller set `minScore`: it also cuts keyword results, except full and identifier matches. */
  strict: boolean;
  /** The sources to search, never empty. They are filtered inside the search, not after it. */
  sources: readonly MemorySource[];
  sessionKey: string | undefined;
  /** Each result says what its score is made of. Never true for a shared audience. */
  explain?: boolean | undefined;
  /** The query is to be sent to no provider. */
  keywordsOnly?: boolean | undefined;
  /** Who reads the answer. `shared`: private notes are excluded inside the search. */
  audience: SessionAudience;
  /** First and last day, both included, as text; unreadable text is `INVALID_ARGUMENT`. Applied days: `filters`. */
  since?: string | undefined;
  until?: string | undefined;
  /** Absent: `relevance`. Results in another order are not sorted by score. */
  order?: SearchOrder | undefined;
  signal: AbortSignal;
  /** Takes the search report: what each retriever gave, and why results are missing. Called once per search. */
  onDebug: (report: SearchReport) => void;
}

/** `private`: the owner of the memory alone. `shared`: a group or a channel, with a shared audience. */
export type SessionAudience = "private" | "shared";

/** Parts of a score; they and the reranker's `change` add up to it. `meaning` is 0 without a vector match. */
export interface ScoreParts {
  /** The words of the query in the text. */
  words: number;
  names: number;
  dates: number;
  meaning: number;
  /** Place among the candidates before and after the reranker, and the change of the score. */
  rerank?: { before: number; after: number; change: number } | undefined;
}

/** What `why` is about: a note, one of its lines (1-based), or the text of a line. */
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

export interface WhyRung {
  step: WhyStep;
  /** `failed`: excluded here. `unknown`: not reached. `note`: partial, but continued. */
  state: "ok" | "note" | "failed" | "unknown";
  /** A sentence without its full stop. */
  says: string;
}

/** Where one passage is in a ranking. */
export interface WhyPlace extends NoteLines {
  /** Counted from 1. */
  rank: number;
  score: number;
  parts: ScoreParts;
}

/** Why something is or is not among the results of a search. */
export interface SearchWhy {
  found: boolean;
  rungs: readonly WhyRung[];
  /** The first failed step, or the place in the ranking. */
  sentence: string;
  /** The next step: text, and search options that would show it. */
  act?:
    | { says: string; maxResults?: number | undefined; maxTokens?: number | undefined; minScore?: number | undefined }
    | undefined;
  /** Its place among all candidates, and how many those are. */
  place?: WhyPlace | undefined;
  candidates?: number | undefined;
  beatenBy?: WhyPlace | undefined;
}
