import type { EmbeddingPrice } from "./embedding.ts";
import type { MemoryFileFacts, MemoryFileList } from "./memory-files.ts";
import type { IndexDetails, QuarantineRelease } from "./index-details.ts";
import type { MemoryMap, NearPassage } from "./memory-map.ts";
import type { SearchOrder } from "./search-filters.ts";
import type { ExcludedNotes, MemoryProviderStatus, MemorySource, SyncReport, SyncProgress } from "./status.ts";
import type { SearchReport, UnsearchedFiles } from "./report.ts";
import type { ScoreParts, SearchWhy, WhyTarget } from "./search-why.ts";

/** One ranked answer. Lines are 1-based and inclusive; `path` is relative to the workspace with `/`. */
export interface MemorySearchResult {
  path: string;
  startLine: number;
  endLine: number;
  /**
   * 0 to 1, higher is better. With a reranker it is the score of the place: the candidates' scores are dealt out anew,
   * the highest to the first.
   */
  score: number;
  /** Cosine similarity to the query, where the vector leg saw this result. */
  vectorScore?: number | undefined;
  /** Keyword score, 0 to 1, where the keyword leg found this result. */
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

/** A search as a manager receives it: every option is present, checked and in range. */
export interface ManagerSearchOptions {
  /** 1 to 200. */
  maxResults: number;
  /** 100 to 4,000: estimated tokens that the texts of all results have together, see `resultTokens`. */
  maxTokens: number;
  /** 0 to 1. Results that only the vector leg found need at least this score. */
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
  /** Who reads the answer. `shared`: others than the owner may, so that private notes are left out inside the search. */
  audience: SessionAudience;
  /**
   * The first and the last day that results may be of, both included, in words: `2026-03-05`, `2026-03`, `last week`. What
   * cannot be read is `INVALID_ARGUMENT`. What was applied is said in `SearchReport.filters`.
   */
  since?: string | undefined;
  until?: string | undefined;
  /** Absent: `relevance`. Results in another order are not sorted by score. */
  order?: SearchOrder | undefined;
  signal: AbortSignal;
  /** Takes the search report: what each leg gave, and why results are missing. Called once per search. */
  onDebug: (report: SearchReport) => void;
}

/** `private`: the owner of the memory alone. `shared`: a group or a channel, where others read along. */
export type SessionAudience = "private" | "shared";

/** What stands in the files, and is not found. */
export interface MemorySurvey {
  excluded: ExcludedNotes;
  /** How many notes there are, indexed or not. */
  notes: number;
  unsearched: UnsearchedFiles;
}

/** A window of one file. `status` is `not_found` for an allowed path with no file behind it; then `text` is empty. */
export interface MemoryReadResult {
  status: "ok" | "not_found";
  text: string;
  path: string;
  truncated?: boolean | undefined;
  /** First line returned, 1-based. */
  from?: number | undefined;
  /** Number of lines returned. */
  lines?: number | undefined;
  /** First line that was not returned. Set only when more remains. */
  nextFrom?: number | undefined;
}

/** A read as a manager receives it, with every option present. */
export interface ManagerReadParams {
  relPath: string;
  /** 1-based. */
  from: number;
  lines: number;
  /** `shared`: private notes are refused with `PATH_NOT_ALLOWED`. */
  audience: SessionAudience;
  signal: AbortSignal;
}

/** Names a session whose transcript is to be indexed now, however little of it is new. */
export interface SessionTarget {
  sessionId: string;
  sessionKey?: string | undefined;
}

/** A sync as a manager receives it. */
export interface ManagerSyncParams {
  /** What asked for it: `cli`, `search`, `session-start`, `watch`, `interval`, `compaction`. For people to read. */
  reason: string;
  /** Rebuild even what has not changed. */
  force: boolean;
  /** Look at these transcripts only, and take them whatever the thresholds say. Absent: everything. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: another process that is at work on this index is not waited for; `BUSY` names it. */
  wait: boolean;
  progress: (update: SyncProgress) => void;
  signal: AbortSignal;
}

/** What one real request to the embedding provider has shown. */
export interface AvailabilityProbe {
  ok: boolean;
  error?: string | undefined;
  /** Milliseconds from request to vector. */
  latencyMs?: number | undefined;
  /** Numbers in the vector that came. */
  dimensions?: number | undefined;
}

/** What making the index up to date would cost. Nothing is changed and nothing is sent to find out. */
export interface SyncEstimate {
  /** Memory files, and how many of them would be indexed again. */
  files: number;
  changedFiles: number;
  chunks: number;
  /** Texts whose vector is there already; a text that stands twice counts once. */
  cachedTexts: number;
  /** Texts that would be sent. */
  pendingTexts: number;
  /** Short texts that would be sent besides, to measure what meaning is worth beside words. */
  measuringTexts?: number | undefined;
  /** Tokens of both, estimated. */
  tokens: number;
  /** Requests that they would be packed into. */
  requests: number;
  provider: string;
  model?: string | undefined;
  /** Why nothing would be sent: keyword search only. */
  reason?: string | undefined;
  price?: (EmbeddingPrice & { usd: number }) | undefined;
}

/** One thing that was looked at in an index. */
export interface IndexFinding {
  /** `files`, `words`, `vectors`, `sample`, `space`, … */
  name: string;
  ok: boolean;
  /** What was counted and compared, with the figures. */
  message: string;
  /** What was done about it, where mending was asked for. */
  fixed?: string | undefined;
}

/** What a check of the whole index has shown. */
export interface IndexCheck {
  ok: boolean;
  findings: readonly IndexFinding[];
  /** Bytes of each table, the largest first, where the backend can tell. */
  tables?: readonly { name: string; bytes: number }[] | undefined;
}

/** What giving space back has brought. */
export interface CompactReport {
  beforeBytes: number;
  afterBytes: number;
}

/** What a manager can do. The conformance kit holds it to these and skips nothing else. */
export interface MemoryCapabilities {
  /** Finds words, identifiers and CJK text as they are written. */
  keyword: boolean;
  /** Finds by meaning when an embedding provider is given. */
  vector: boolean;
  /** Keeps an index of its own that `sync` brings up to date. */
  ownsIndex: boolean;
}

/**
 * What a memory plugin opens. It is called through the guard, which checks arguments, fills in defaults, keeps
 * deadlines, joins concurrent syncs, and refuses calls after `close`: none of that is the plugin's work.
 */
export interface MemorySearchManager {
  readonly capabilities: MemoryCapabilities;
  search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]>;
  /** Throws `PATH_NOT_ALLOWED` for anything but a memory file inside its roots. */
  readFile(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** A synchronous snapshot of recorded facts. Never throws, never does I/O. */
  status(): MemoryProviderStatus;
  /** Brings the index up to date. Absent where there is no index. Never called twice at the same time. */
  sync?(params: ManagerSyncParams): Promise<SyncReport | undefined>;
  /** What `sync` would cost. Absent, or undefined, where it would cost nothing or cannot be told. */
  estimate?(params: { signal: AbortSignal }): Promise<SyncEstimate | undefined>;
  /** Looks for what a search would not find and nobody would notice. Changes nothing. Absent where there are no files. */
  survey?(params: { signal: AbortSignal }): Promise<MemorySurvey | undefined>;
  /**
   * The files that are searched, and those that are not with the reason, at most `limit` of each. It is told to the owner
   * alone. Absent where there are no files.
   */
  listFiles?(params: { limit: number; signal: AbortSignal }): Promise<MemoryFileList | undefined>;
  /** How a note was cut, its links, and the links to it, for the owner alone. Undefined for a file that is not indexed. */
  describeFile?(params: { relPath: string; signal: AbortSignal }): Promise<MemoryFileFacts | undefined>;
  /**
   * Says of one note or line what came of it in a search that is run for this. Only asked for the owner. Absent, or
   * undefined, where it cannot be told.
   */
  why?(query: string, target: WhyTarget, options: ManagerSearchOptions): Promise<SearchWhy | undefined>;
  /**
   * Compares the parts of the index with each other, and has a sample of what it holds find itself by the very search
   * that answers questions. With `fix` what is wrong is mended from what is there, without a request to a provider.
   * Undefined where there is nothing to look at.
   */
  check?(params: { fix: boolean; signal: AbortSignal }): Promise<IndexCheck | undefined>;
  /** Gives back space that deleted and changed notes have left. */
  compact?(params: { signal: AbortSignal }): Promise<CompactReport | undefined>;
  /** The last syncs, and the spaces that have vectors. Changes nothing. Absent where there is no index. */
  details?(params: { signal: AbortSignal }): Promise<IndexDetails | undefined>;
  /** Draws the passages on a plane, for the owner alone. Absent where there is nothing to draw them by. */
  map?(params: { query: string | undefined; dimensions: number; signal: AbortSignal }): Promise<MemoryMap | undefined>;
  /** What is nearest to the passage that begins there. Undefined where none does. */
  near?(params: {
    relPath: string;
    startLine: number;
    limit: number;
    signal: AbortSignal;
  }): Promise<readonly NearPassage[] | undefined>;
  /** Lets every text be tried again that the provider has refused. Sends nothing by itself: the next sync does. */
  releaseQuarantine?(params: { signal: AbortSignal }): Promise<QuarantineRelease | undefined>;
  probeEmbeddingAvailability(signal: AbortSignal): Promise<AvailabilityProbe>;
  probeVectorAvailability(signal: AbortSignal): Promise<boolean>;
  /** Frees everything. Called once, after every running call has ended or was aborted. */
  close?(): Promise<void>;
}
