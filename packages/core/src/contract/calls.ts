import type {
  CompactReport,
  IndexCheck,
  IndexDetails,
  MemoryFileFacts,
  MemoryFileList,
  MemoryMap,
  MemorySurvey,
  NearPassage,
  QuarantineRelease,
  SyncEstimate,
} from "./index-answers.ts";
import type { ManagerSearchOptions, MemorySearchOptions, SearchWhy, WhyTarget } from "./search.ts";

/** What every call of a memory takes among its options. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Names a note by its path, as results have it. `relPath` is the older name of the same field. */
export type NotePath = { path: string; relPath?: undefined } | { relPath: string; path?: undefined };

/** One call: the arguments that an application gives, those that the guard hands to the manager, and the answer. */
export interface Call<
  Given extends readonly unknown[] = readonly unknown[],
  Handed extends readonly unknown[] = readonly unknown[],
  Answer = unknown,
> {
  given: Given;
  handed: Handed;
  answer: Answer;
}

/** Calls by name. */
export type Calls<Table> = { readonly [Name in keyof Table]: Call };

type Options<Fields = object> = [options?: (Fields & CallOptions) | undefined];
type Params<Fields> = [params: Fields & CallOptions];
type Checked<Fields = object> = [params: Fields & { signal: AbortSignal }];

/**
 * The calls about an index that a manager may leave out. `Memory` has all of them, and answers `undefined` where the
 * manager lacks the call or cannot tell. Each has a row in `guard/calls.ts`.
 */
export interface IndexCalls {
  /** What a sync would cost. Nothing is changed and nothing is sent to find out. */
  estimate: Call<Options, Checked, SyncEstimate>;
  /** What the files hold and a search does not find. Changes nothing. */
  survey: Call<Options, Checked, MemorySurvey>;
  /**
   * The files that are searched, and those that are not with the reason: at most `limit` of each, 20,000 if omitted,
   * and how many there are. For the owner only.
   */
  listFiles: Call<Options<{ limit?: number | undefined }>, Checked<{ limit: number }>, MemoryFileList>;
  /**
   * How a note was cut into passages, its links, and the links to it. For the owner only. Undefined for a file that is
   * not indexed.
   */
  describeFile: Call<Params<NotePath>, Checked<{ relPath: string }>, MemoryFileFacts>;
  /**
   * Why a note or a line is, or is not, among the results of a search with these options, which is run for it. Throws
   * `INVALID_ARGUMENT` for a session in which the audience is shared.
   */
  why: Call<
    [query: string, target: WhyTarget, options?: MemorySearchOptions | undefined],
    [query: string, target: WhyTarget, options: ManagerSearchOptions],
    SearchWhy
  >;
  /**
   * Whether the index can be relied on: its parts are compared with each other, and a sample of what it holds has to
   * find itself. With `fix` the index is repaired from its own data, without a request to a provider.
   */
  check: Call<Options<{ fix?: boolean | undefined }>, Checked<{ fix: boolean }>, IndexCheck>;
  /** Gives back space on disk that deleted and changed notes have left. */
  compact: Call<Options, Checked, CompactReport>;
  /** The last syncs with how long they took, and the vectors that there are. Changes nothing. */
  details: Call<Options, Checked, IndexDetails>;
  /**
   * The passages as points on a plane, with the place of a query. For the owner only. `dimensions`: 2 to 24, 2 if left
   * out; of more, `fine` has all.
   */
  map: Call<
    Options<{ query?: string | undefined; dimensions?: number | undefined }>,
    Checked<{ query: string | undefined; dimensions: number }>,
    MemoryMap
  >;
  /**
   * The passages that are nearest to the one that begins in this line, the nearest first: `limit` of them, 8 if
   * omitted, at most 50. Undefined if none begins there.
   */
  near: Call<
    Params<NotePath & { startLine: number; limit?: number | undefined }>,
    Checked<{ relPath: string; startLine: number; limit: number }>,
    readonly NearPassage[]
  >;
  /** Lets the next sync try every text again that the embedding provider has refused. Sends nothing by itself. */
  releaseQuarantine: Call<Options, Checked, QuarantineRelease>;
}

export type IndexCallName = keyof IndexCalls;

/** The calls of a table as an application makes them. */
export type CallsOfMemory<Table extends Calls<Table> = IndexCalls> = {
  [Name in keyof Table]: (...given: Table[Name]["given"]) => Promise<Table[Name]["answer"] | undefined>;
};

/** The calls of a table as a manager receives them. It may lack any of them. */
export type CallsOfManager<Table extends Calls<Table> = IndexCalls> = {
  [Name in keyof Table]?: (...handed: Table[Name]["handed"]) => Promise<Table[Name]["answer"] | undefined>;
};
