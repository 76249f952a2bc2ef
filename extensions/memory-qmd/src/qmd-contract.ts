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

/** Milliseconds where nothing else is said, as in the adapter contract. Tests shorten them. */
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
  /** Three ends of the long-lived child that nobody asked for within this time, and only the command line is used for as long. */
  crashWindowMs: number;
  /** How long an update waits for one of another process. */
  lockWaitMs: number;
  /** Before a command that found the index locked is tried again; each time longer, and never quite the same. */
  busyRetryMs: number;
  /** In lexical mode: the long-lived child is replaced when it has more, in bytes. */
  maxMemoryBytes: number;
  /** Between two looks at its memory. */
  memoryCheckMs: number;
}

/**
 * Talks to qmd: one long-lived `qmd mcp` for questions, a process each for everything else, at most one of those at a
 * time over all processes on this machine. Every child holds a pipe to this process and ends when that closes, however
 * this process ended. Every method throws `QmdFailure`, or `AbortError`.
 */
export interface QmdProcess {
  /** An empty query by the command line: rc 0 and a list, else a failure that says why. */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * By the long-lived child, and once by the command line where that fails or takes too long. A question with `vec` or
   * `rerank` never goes by the command line, where the models would be read anew: it throws at once what went wrong
   * (`timeout`: the child lives on and is warm the next time), or `models_unavailable` while the child rests after a
   * failure, and the caller may ask again without them. A collection that qmd does not know throws `unknown_collection`
   * by either way. The time of the child's start (`initializeMs`) comes before `deadlineMs`.
   */
  query(query: QmdQuery): Promise<QmdAnswer>;
  /** By the long-lived child alone: throws while that rests after a failure. */
  status(signal: AbortSignal): Promise<QmdIndexStatus>;
  /**
   * Reads all collections anew. `files` sets its time. Where it had to be killed it throws `timeout`, and
   * `isTorn()` is true from then on: a document may be missing from the index for ever. Where it was asked to end and
   * did, in its own time, it throws `timeout` too, and nothing is torn. `unknown_collection`: it found none though
   * `index.yml` has some. `index_busy`: after three more tries, or another process was at it for too long.
   */
  update(params: { files: number; signal: AbortSignal }): Promise<void>;
  /** Makes vectors for at most so long. False: somebody else is at it. */
  embed(params: { minutes: number; signal: AbortSignal }): Promise<boolean>;
  /** Drops what is left of deleted notes. */
  cleanup(signal: AbortSignal): Promise<void>;
  /** After `index.yml` or the index was changed under it. */
  restart(): Promise<void>;
  /**
   * Ends the long-lived child, waits for what else runs in this process, and keeps others from being started until
   * `resume`, so that the index can be moved. Calls meanwhile throw `index_busy`.
   */
  pause(): Promise<void>;
  resume(): void;
  /** Kept in the folder: an update that was killed under another process, or by a loss of power, counts too. */
  isTorn(): boolean;
  /** After the index was made anew. */
  mended(): void;
  setMode(mode: "lexical" | "semantic"): Promise<void>;
  state(): QmdProcessState;
  /** Ends all. An update that does not end soon is not waited for: its keeper ends it after the grace. */
  close(): Promise<void>;
}
