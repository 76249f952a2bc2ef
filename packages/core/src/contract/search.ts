import type { SearchOrder, SearchReport } from "./report.ts";
import type { MemorySource, NoteLines } from "./status.ts";

/** One ranked answer. */
export interface MemorySearchResult extends NoteLines {
  /**
   * 0 to 1, higher is better. With a reranker it is the score of the place: the candidates' scores are dealt out anew,
   * the highest to the first.
   */
  score: number;
  /** Cosine similarity to the query, where the vector search saw this result. */
  vectorScore?: number | undefined;
  /** Keyword score, 0 to 1, where the keyword search found this result. */
  textScore?: number | undefined;
  /**
   * The lines of the note that answer, at most 700 characters: `…` on a line of its own stands for lines that were left
   * out, and inside a line for a part of it.
   */
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
  /**
   * 100 to 4,000: estimated tokens of all texts together. Left out, it is what the configuration says, or 1,000; of
   * more than six results each has a sixth of that, where no `defaultMaxResults` is given.
   */
  maxTokens?: number | undefined;
  minScore?: number | undefined;
  sources?: readonly MemorySource[] | undefined;
  /**
   * The first and the last day that results may be of, both included, where the process is: `2026-03-05`, `2026-03`,
   * `2026`, or a time in words such as `last week`. What has no day is excluded. Throws `INVALID_ARGUMENT` for what is
   * no time.
   */
  since?: string | undefined;
  until?: string | undefined;
  /** `newest` or `oldest`: those that match at least half as well as the best, by their days. @default "relevance" */
  order?: SearchOrder | undefined;
  /** The session that asks, as the host names it. A group or a channel never sees private notes. */
  sessionKey?: string | undefined;
  /** True: each result says what its score is made of (`parts`), to the owner and where the backend can tell. */
  explain?: boolean | undefined;
  /**
   * True: keyword search alone. The query is sent to no embedding or reranking provider, as for text that is half
   * typed.
   */
  keywordsOnly?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onDebug?: ((report: SearchReport) => void) | undefined;
}

/** What a search found, and its report: whether the answer can be relied on, and what each retriever gave. */
export interface SearchAnswer {
  readonly results: MemorySearchResult[];
  readonly report: SearchReport;
}

/** A search as a manager receives it: every option is present, checked and in range. */
export interface ManagerSearchOptions {
  /** 1 to 200. */
  maxResults: number;
  /** 100 to 4,000: estimated tokens that the texts of all results have together, see `resultTokens`. */
  maxTokens: number;
  /** 0 to 1. Results that only the vector search found need at least this score. */
  minScore: number;
  /**
   * True when the caller named `minScore` in this call: then it also cuts results found by words, except those that
   * hold every word of the query that the index knows, or an identifier exactly as written.
   */
  strict: boolean;
  /** The sources to search, never empty. They are filtered inside the search, not after it. */
  sources: readonly MemorySource[];
  sessionKey: string | undefined;
  /** Each result says what its score is made of. Never true for a shared audience. */
  explain?: boolean | undefined;
  /** The query is to be sent to no provider. */
  keywordsOnly?: boolean | undefined;
  /**
   * Who reads the answer. `shared`: others than the owner may, so that private notes are excluded inside the search.
   */
  audience: SessionAudience;
  /**
   * The first and the last day that results may be of, both included, in words: `2026-03-05`, `2026-03`, `last week`.
   * What cannot be read is `INVALID_ARGUMENT`. What was applied is said in `SearchReport.filters`.
   */
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

/**
 * What a score is made of. `words`, `names`, `dates`, `meaning` and the `change` of the reranker add up to it.
 * `meaning` is what the passage would score by its vector alone, and 0 where the vector search did not give it; words,
 * names and dates share the rest as they share the keyword weight.
 */
export interface ScoreParts {
  /** The words of the query in the text. */
  words: number;
  /** The name of the note, its headings, other names and tags. */
  names: number;
  /** A time that the query names. */
  dates: number;
  meaning: number;
  /**
   * What the reranker did: the place among the candidates before and after it, and by how much that changed the score.
   */
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
  /** The first rung that failed, or the place that it has. */
  sentence: string;
  /** What one can do about it: words, and the options of a search that would show it. */
  act?:
    | { says: string; maxResults?: number | undefined; maxTokens?: number | undefined; minScore?: number | undefined }
    | undefined;
  /** Its place among all candidates, and how many those are. */
  place?: WhyPlace | undefined;
  candidates?: number | undefined;
  /** The one before it. */
  beatenBy?: WhyPlace | undefined;
}
