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

export type Calls<Table> = { readonly [Name in keyof Table]: Call };

type Options<Fields = object> = [options?: (Fields & CallOptions) | undefined];
type Params<Fields> = [params: Fields & CallOptions];
type Checked<Fields = object> = [params: Fields & { signal: AbortSignal }];

/** The calls about an index, each optional for a manager; each has a row in `guard/calls.ts`. */
export interface IndexCalls {
  /** What a sync would cost. Nothing is changed and nothing is sent to find out. */
  estimate: Call<Options, Checked, SyncEstimate>;
  /** What the files hold and a search does not find. Changes nothing. */
  survey: Call<Options, Checked, MemorySurvey>;
  /** The searched and the excluded files: at most `limit` of each (default 20,000), with totals. For the owner only. */
  listFiles: Call<Options<{ limit?: number | undefined }>, Checked<{ limit: number }>, MemoryFileList>;
  /** Passages, links and backlinks of a note; undefined if it is not indexed. For the owner only. */
  describeFile: Call<Params<NotePath>, Checked<{ relPath: string }>, MemoryFileFacts>;
  /** Explains why a note or line is or is not a result. Throws `INVALID_ARGUMENT` for a shared audience. */
  why: Call<
    [query: string, target: WhyTarget, options?: MemorySearchOptions | undefined],
    [query: string, target: WhyTarget, options: ManagerSearchOptions],
    SearchWhy
  >;
  /** Checks the index: compares its parts and searches a sample. `fix` repairs it without a provider request. */
  check: Call<Options<{ fix?: boolean | undefined }>, Checked<{ fix: boolean }>, IndexCheck>;
  /** Gives back space on disk that deleted and changed notes have left. */
  compact: Call<Options, Checked, CompactReport>;
  /** The last syncs with how long they took, and the vectors that there are. Changes nothing. */
  details: Call<Options, Checked, IndexDetails>;
  /** Passages as points, with the place of a query. `dimensions`: 2 to 24, default 2. For the owner only. */
  map: Call<
    Options<{ query?: string | undefined; dimensions?: number | undefined }>,
    Checked<{ query: string | undefined; dimensions: number }>,
    MemoryMap
  >;
  /** Nearest passages to the one at this line, `limit` (default 8, at most 50). Undefined if none begins there. */
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
