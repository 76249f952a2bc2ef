import type {
  AvailabilityProbe,
  CompactReport,
  IndexCheck,
  MemoryReadResult,
  MemorySearchResult,
  MemorySurvey,
  SessionTarget,
  SyncEstimate,
} from "./manager.ts";
import type { MemoryHealth } from "./health.ts";
import type { SearchReport } from "./report.ts";
import type { IndexDetails, QuarantineRelease } from "./index-details.ts";
import type { MemoryMap, NearPassage } from "./memory-map.ts";
import type { MemoryFileFacts, MemoryFileList } from "./memory-files.ts";
import type { SearchWhy, WhyTarget } from "./search-why.ts";
import type { SearchOrder } from "./search-filters.ts";
import type { MemoryProviderStatus, MemorySource, SyncProgress, SyncReport } from "./status.ts";

/** Options of a search; what is left out comes from the agent's settings. */
export interface MemorySearchOptions {
  /** 1 to 200. */
  maxResults?: number | undefined;
  /** What `maxResults` is where neither this call nor the configuration says; 6 if left out. */
  defaultMaxResults?: number | undefined;
  /**
   * 100 to 4,000: estimated tokens of all texts together. Left out, it is what the configuration says, or 1,000; of more than
   * six results each has a sixth of that, where no `defaultMaxResults` is given.
   */
  maxTokens?: number | undefined;
  minScore?: number | undefined;
  sources?: readonly MemorySource[] | undefined;
  /**
   * The first and the last day that results may be of, both included, where the process is: `2026-03-05`, `2026-03`, `2026`,
   * or a time in words such as `last week`. What has no day is left out. Throws `INVALID_ARGUMENT` for what is no time.
   */
  since?: string | undefined;
  until?: string | undefined;
  /** `newest` or `oldest`: those that match at least half as well as the best, by their days. @default "relevance" */
  order?: SearchOrder | undefined;
  /** The session that asks, as the host names it. A group or a channel never sees private notes. */
  sessionKey?: string | undefined;
  /** True: each result says what its score is made of (`parts`), to the owner and where the backend can tell. */
  explain?: boolean | undefined;
  /** True: keyword search alone. The query is sent to no embedding or reranking provider, as for text that is half typed. */
  keywordsOnly?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onDebug?: ((report: SearchReport) => void) | undefined;
}

export interface MemoryReadParams {
  relPath: string;
  /** First line, 1-based; 1 if left out. */
  from?: number | undefined;
  /** Number of lines; 120 if left out. */
  lines?: number | undefined;
  /** As in a search: private notes are refused where the session is a group. */
  sessionKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface MemorySyncParams {
  reason?: string | undefined;
  force?: boolean | undefined;
  /** Look at the transcripts of these sessions only, and take them whatever the thresholds say. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: throws `BUSY` where another process is at work on the same index; true if left out. */
  wait?: boolean | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What an application calls. `openMemory` gives one. */
export interface Memory {
  readonly agentId: string;
  readonly workspaceDir: string;
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
  /**
   * Results sorted by score, or as `order` says. `"a phrase"`, `-word`, `path:`, `tag:`, `source:`, `after:` and `before:` in
   * the query are filters. `[]` for a blank query without days. Throws `MemoryError`, or `AbortError` when aborted.
   */
  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchResult[]>;
  readFile(params: MemoryReadParams): Promise<MemoryReadResult>;
  /** Never throws, also after `close`. */
  status(): MemoryProviderStatus;
  /**
   * What was saved before the call is found after it. One sync runs at a time; callers that come meanwhile share the next.
   */
  sync(params?: MemorySyncParams): Promise<SyncReport | undefined>;
  /** What a sync would cost, without doing it. Undefined where the backend cannot tell. */
  estimate(options?: { signal?: AbortSignal | undefined }): Promise<SyncEstimate | undefined>;
  /** What the files hold and a search does not find. Undefined where the backend cannot tell. */
  survey(options?: { signal?: AbortSignal | undefined }): Promise<MemorySurvey | undefined>;
  /**
   * Whether answers can be relied on, with the reason and the next step. Opens the notes, and sends nothing unless `deep`:
   * then the index is checked and the embedding provider gets one small request.
   */
  health(options?: { deep?: boolean | undefined; signal?: AbortSignal | undefined }): Promise<MemoryHealth>;
  /**
   * The files that are searched, and those that are not with the reason: at most `limit` of each, 20,000 if left out, and
   * how many there are. For the owner's eyes. Undefined where the backend cannot tell.
   */
  listFiles(options?: {
    limit?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<MemoryFileList | undefined>;
  /**
   * How a note was cut into passages, its links, and the links to it. For the owner's eyes. Undefined for a file that is
   * not indexed, and where the backend cannot tell.
   */
  describeFile(params: { relPath: string; signal?: AbortSignal | undefined }): Promise<MemoryFileFacts | undefined>;
  /**
   * Why a note or a line is, or is not, among the results of a search with these options, which is run for it. Undefined
   * where the backend cannot tell. Throws `INVALID_ARGUMENT` for a session in which others read along.
   */
  why(query: string, target: WhyTarget, options?: MemorySearchOptions): Promise<SearchWhy | undefined>;
  /** Whether the index can be relied on; with `fix` it is mended. Undefined where the backend cannot tell. */
  check(options?: { fix?: boolean | undefined; signal?: AbortSignal | undefined }): Promise<IndexCheck | undefined>;
  /** Gives back space on disk. Undefined where the backend has none to give. */
  compact(options?: { signal?: AbortSignal | undefined }): Promise<CompactReport | undefined>;
  /** The last syncs with how long they took, and the vectors that there are. Undefined where the backend cannot tell. */
  details(options?: { signal?: AbortSignal | undefined }): Promise<IndexDetails | undefined>;
  /** The passages as points on a plane, with the place of a query. For the owner's eyes. Undefined where the backend cannot tell. */
  map(options?: {
    query?: string | undefined;
    /** 2 to 24; 2 if left out. Of more, `fine` has all. */
    dimensions?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<MemoryMap | undefined>;
  /**
   * The passages that are nearest to the one that begins in this line, the nearest first: `limit` of them, 8 if left out, at most 50. Undefined
   * where none begins there, and where the backend cannot tell.
   */
  near(params: {
    relPath: string;
    startLine: number;
    limit?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<readonly NearPassage[] | undefined>;
  /**
   * Has the next sync try again what the embedding provider has refused. Undefined where the backend keeps no such texts.
   */
  releaseQuarantine(options?: { signal?: AbortSignal | undefined }): Promise<QuarantineRelease | undefined>;
  probeEmbeddingAvailability(options?: { signal?: AbortSignal | undefined }): Promise<AvailabilityProbe>;
  probeVectorAvailability(options?: { signal?: AbortSignal | undefined }): Promise<boolean>;
  /** Idempotent. Every later call but `status` and `close` throws `CLOSED`. */
  close(): Promise<void>;
}
