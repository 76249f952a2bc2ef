/** What to do about a failure of qmd is decided by its reason alone. */
export type QmdFailureReason =
  | "not_installed"
  | "unsupported_version"
  | "not_built"
  /** It ended by a signal, most often under a Node that it was not built for. */
  | "crash"
  | "timeout"
  | "invalid_output"
  /** It said of itself that it failed, in words that mean none of the others. */
  | "qmd_error"
  | "unknown_collection"
  | "config_broken"
  | "index_busy"
  | "index_damaged"
  | "no_space"
  /** The models are not there, do not load, or are switched off. */
  | "models_unavailable"
  | "closed";

/** A failure of the qmd tool, in words for people. An abort is never one: it stays an `AbortError`. */
export class QmdFailure extends Error {
  readonly reason: QmdFailureReason;
  /** What a person can do about it. */
  readonly action: string | undefined;

  constructor(reason: QmdFailureReason, message: string, options?: { action?: string | undefined; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.name = "QmdFailure";
    this.reason = reason;
    this.action = options?.action;
  }
}

/** A qmd that was found on this machine. */
export interface FoundQmd {
  version: string;
  /** Its package folder, or its command where that is not a package. */
  location: string;
  /** The command line that starts it, without a subcommand. */
  argv: readonly string[];
}

/** One list that qmd is to make; qmd fuses them. */
export interface QmdSearch {
  type: "lex" | "vec";
  query: string;
}

export interface QmdQuery {
  /** 1 to 10. */
  searches: readonly QmdSearch[];
  limit: number;
  /** Never empty: what is left out means other things to different versions. */
  collections: readonly string[];
  rerank: boolean;
  /** With `rerank`: how many candidates are read by the model. */
  candidateLimit?: number | undefined;
  deadlineMs: number;
  signal: AbortSignal;
}

/** One file that qmd found, best first. */
export interface QmdRow {
  collection: string;
  /** Inside the collection, with `/`, as the file system knows it. */
  path: string;
  /** Only the order counts: in a small index a right answer has 0. */
  score: number;
  /** Where qmd believes the match to be. Often wrong. */
  line?: number | undefined;
}

export interface QmdAnswer {
  rows: QmdRow[];
  /** Which way it came. */
  by: "mcp" | "cli";
  /** Lines that were no answer and were passed over. */
  noise?: string | undefined;
}

export interface QmdIndexStatus {
  documents: number;
  needsEmbedding: number;
  hasVectorIndex: boolean;
  collections: { name: string; documents: number }[];
}

/** Facts that are known without asking. */
export interface QmdProcessState {
  /** `cli`: the long-lived child has crashed too often, each query starts a process. */
  transport: "mcp" | "cli";
  pid?: number | undefined;
  /** Restarts of the long-lived child. */
  restarts: number;
  /** `update` or `embed` while one runs. */
  activity?: "update" | "embed" | "cleanup" | undefined;
  lastError?: { reason: QmdFailureReason; message: string; at: string } | undefined;
}

export interface QmdProcessOptions {
  found: FoundQmd;
  /** Owned by this adapter: holds `index.yml`, `index.sqlite` and the compile cache, and is the working directory of every child. */
  folder: string;
  /** The environment of the host; only what is on the list of the adapter contract is passed on. */
  environment: Readonly<Record<string, string | undefined>>;
  /** `semantic`: models may be loaded (never fetched). `lexical`: qmd is kept from touching them. */
  mode: "lexical" | "semantic";
  limits?: Partial<QmdLimits> | undefined;
  /** Told once for each text: noise in the output, a restart. */
  notify: (line: string) => void;
}

/** Milliseconds, as in the adapter contract. Tests shorten them. */
export interface QmdLimits {
  initializeMs: number;
  cliQueryMs: number;
  probeMs: number;
  updateBaseMs: number;
  updatePerFileMs: number;
  /** After SIGTERM to an update, before SIGKILL. */
  updateGraceMs: number;
  /** After stdin was closed, and after SIGTERM. */
  stopMs: number;
  killMs: number;
  /** Before the long-lived child is started again: the first, the second, … time. */
  restartMs: readonly number[];
}

/**
 * Talks to qmd: one long-lived `qmd mcp` for questions, a process each for everything else, at most one of those at a
 * time over all processes on this machine. Every child holds a pipe to this process and ends when that closes, however
 * this process ended. Every method throws `QmdFailure`, or `AbortError`.
 */
export interface QmdProcess {
  /** An empty query by the command line: rc 0 and a list, else a failure that says why. */
  probe(signal: AbortSignal): Promise<void>;
  /** By the long-lived child, and once by the command line where that fails or takes too long. */
  query(query: QmdQuery): Promise<QmdAnswer>;
  status(signal: AbortSignal): Promise<QmdIndexStatus>;
  /**
   * Reads all collections anew. `files` sets its time. Where it had to be killed it throws `timeout`, and
   * `isTorn()` is true from then on: a document may be missing from the index for ever.
   */
  update(params: { files: number; signal: AbortSignal }): Promise<void>;
  /** Makes vectors for at most so long. False: somebody else is at it. */
  embed(params: { minutes: number; signal: AbortSignal }): Promise<boolean>;
  /** Drops what is left of deleted notes. */
  cleanup(signal: AbortSignal): Promise<void>;
  /** After `index.yml` or the index was changed under it. */
  restart(): Promise<void>;
  /** Ends the long-lived child and keeps others from being started until `resume`, so that the index can be moved. */
  pause(): Promise<void>;
  resume(): void;
  isTorn(): boolean;
  /** After the index was made anew. */
  mended(): void;
  setMode(mode: "lexical" | "semantic"): Promise<void>;
  state(): QmdProcessState;
  close(): Promise<void>;
}
