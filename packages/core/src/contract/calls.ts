import type {
  CompactReport,
  IndexCheck,
  IndexDetails,
  MemoryFileFacts,
  MemoryFileList,
  MemoryMap,
  MemorySurvey,
  QuarantineRelease,
  SyncEstimate,
} from "./index-answers.ts";
import type { ManagerSearchOptions, MemorySearchOptions, SearchWhy, WhyTarget } from "./search.ts";

export interface CallOptions {
  /** Its abort rejects the call with an `AbortError`. */
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

/** A table of calls: the shape of `IndexCalls`. */
export type Calls<Table> = { readonly [Name in keyof Table]: Call };

type Options<Fields = object> = [options?: (Fields & CallOptions) | undefined];
type Params<Fields> = [params: Fields & CallOptions];
type Checked<Fields = object> = [params: Fields & { signal: AbortSignal }];

/**
 * The calls about an index. A manager may lack any of them: the memory then answers `undefined`. Each has a row in
 * `guard/call-table.ts`.
 */
export interface IndexCalls {
  /** Estimates the cost of a sync. Changes nothing and sends no provider request. */
  estimate: Call<Options, Checked, SyncEstimate>;
  /** Lists notes and files that a search cannot find. Changes nothing. */
  survey: Call<Options, Checked, MemorySurvey>;
  /**
   * Lists searched and excluded files: `limit` of each at most (1 to 20,000, the default). `newest`: the last changed
   * first, else by path. `scan`: false for the index alone, without excluded files. For the owner.
   */
  listFiles: Call<
    Options<{ limit?: number | undefined; newest?: boolean | undefined; scan?: boolean | undefined }>,
    Checked<{ limit: number; newest?: boolean | undefined; scan?: boolean | undefined }>,
    MemoryFileList
  >;
  /** Passages, links and backlinks of a note. `undefined` if the note is not indexed. For the owner. */
  describeFile: Call<Params<NotePath>, Checked<{ relPath: string }>, MemoryFileFacts>;
  /** Explains why a note or line is or is not a result. Throws `INVALID_ARGUMENT` for a shared audience. */
  why: Call<
    [query: string, target: WhyTarget, options?: MemorySearchOptions | undefined],
    [query: string, target: WhyTarget, options: ManagerSearchOptions],
    SearchWhy
  >;
  /** Checks the index: compares its parts and searches a sample. `fix` repairs it, without a provider request. */
  check: Call<Options<{ fix?: boolean | undefined }>, Checked<{ fix: boolean }>, IndexCheck>;
  /** Frees disk space that deleted and changed notes have left in the index. */
  compact: Call<Options, Checked, CompactReport>;
  /** The latest syncs with their durations, and the vector spaces. Changes nothing. */
  details: Call<Options, Checked, IndexDetails>;
  /** Passages as points. `dimensions`: 2 (default) to 24. For the owner. */
  map: Call<Options<{ dimensions?: number | undefined }>, Checked<{ dimensions: number }>, MemoryMap>;
  /** Releases texts that the embedding provider has refused: the next sync sends them again. Sends nothing itself. */
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
