import type { MessagePort } from "node:worker_threads";
import type { CompactReport, IndexFinding, MemoryErrorCode } from "@memslot/core";
import type {
  ChunkIndex,
  FileTable,
  IndexHealth,
  IndexLeases,
  IndexUpkeep,
  MapAsked,
  MappedPassages,
  SpaceFacts,
} from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type { Ledger } from "../ledger.ts";
import type { IndexOwner } from "../file/owner.ts";
import type { Pieces } from "./pieces.ts";

/** Methods of a contract, answered at once instead of later. */
type AnsweredAtOnce<Contract> = {
  [Method in keyof Contract]: Contract[Method] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never;
};

/** The methods of a contract under names that begin with a word for it. */
type Named<Prefix extends string, Contract> = {
  [Method in keyof Contract & string as `${Prefix}${Capitalize<Method>}`]: Contract[Method];
};

/** The files of the build that is being made, by the number that `buildStart` gave. */
type BuildFiles = {
  [Method in keyof FileTable]: FileTable[Method] extends (...args: infer Args) => Promise<infer Result>
    ? (build: number, ...args: Args) => Result
    : never;
};

type OwnMethod = Exclude<
  keyof ChunkIndex,
  | "revision"
  | "builds"
  | "leases"
  | "upkeep"
  | "spaceFacts"
  | "keepsVectors"
  | "giveVectors"
  | "isShared"
  | "adoptFiles"
  | "health"
  | "close"
  | "searchKeyword"
  | "searchVector"
  | "probeVector"
>;

/** The calls of a ledger that no index has. */
type LedgerMethod =
  | "rowsOf"
  | "oweVectors"
  | "owedVectors"
  | "paidVectors"
  | "adoptVectors"
  | "reconcile"
  | "note"
  | "noted";

/** `IndexUpkeep` as it is inside the worker: what takes long comes in pieces. */
export interface Upkeep {
  check(): Pieces<IndexFinding[]>;
  repair(): Pieces<IndexFinding[]>;
  compact(): Pieces<CompactReport>;
  tables(): Awaited<ReturnType<IndexUpkeep["tables"]>>;
  sample(count: number): Awaited<ReturnType<IndexUpkeep["sample"]>>;
  vectorOf(space: VectorSpace, hash: string): Float32Array | undefined;
}

/** The calls of a ledger that are answered by its worker, side by side. What is searched a companion answers. */
export type StoreCalls = AnsweredAtOnce<Pick<ChunkIndex, OwnMethod>> & {
  revision(): string;
  /** Gives the number of the build. */
  buildStart(name: string): number;
  /** The one that is being made; `buildFinish` is about it from then on. */
  buildCurrent(): { name: string; build: number } | undefined;
  buildFinish(): void;
  buildAbandon(): void;
} & AnsweredAtOnce<Pick<Ledger, LedgerMethod>> &
  Named<"next", BuildFiles> &
  Named<"lease", AnsweredAtOnce<IndexLeases>> &
  AnsweredAtOnce<Pick<SpaceFacts, "sampleVectors">> & { mapPassages(asked: MapAsked): Pieces<MappedPassages> } & Upkeep;

export type StoreMethod = keyof StoreCalls;
export type LeaseMethod = keyof Named<"lease", IndexLeases>;

/** The store as it is inside the worker, but for the leases, which do not depend on the file that is open. */
export type DatabaseStore = Omit<StoreCalls, LeaseMethod> & {
  health(): IndexHealth;
  /** A small piece of work that can wait, done between calls. `isQuiet`: there was no call in a while. True: there may be more. Never throws. */
  tidy(isQuiet?: boolean): Promise<boolean>;
  /** Gives back the memory of pages that have been read. */
  shrink(): void;
  close(): void;
};

export interface OpenOptions {
  /** Whose files the calls are about. */
  store: string;
  path: string;
  /** False: an index that is not there is kept in memory. */
  mayCreate?: boolean | undefined;
  /** Nobody else has a reason to put a file there: one that cannot be read is ours and damaged. */
  isOwnPlace?: boolean | undefined;
  owner?: IndexOwner | undefined;
  /** Where the locks of the leases lie. Absent: there are none. */
  locksDir?: string | undefined;
  /** What a store keeps in the same file: the address of the module that makes it, and what is handed to it. */
  companion?: { module: string; settings: unknown } | undefined;
  cacheMaxEntries: number;
  /** The store keeps vectors of its own: it is owed those that come into the cache. */
  owesVectors?: boolean | undefined;
  /** How long one attempt to lock the file may take. */
  busyTimeoutMs: number;
  /** The file that was found damaged while it was open, as `fileIdentity` names it, and how. */
  damaged?: { identity: string; reason: string } | undefined;
  /** The disk had no space for a first index: what was written of it is deleted, and the index is kept in memory. */
  isFull?: boolean | undefined;
  /** How often the ledger has been moved to another thread: revisions of two threads are different. */
  moves?: number | undefined;
}

/** `open` with `OpenOptions`, `close`, or a call of the ledger or of its companion. */
export interface Request {
  id: number;
  method: string;
  args: readonly unknown[];
}

export interface Reply {
  id: number;
  result?: unknown;
  error?: { code: MemoryErrorCode; message: string; cause?: string | undefined } | undefined;
  /** Sent when it has changed. */
  health?: IndexHealth | undefined;
}

/** What a thread is sent for each ledger that it is to serve. */
export interface Joining {
  /** Greater than 0. */
  ledger: number;
  port: MessagePort;
  /** One number: 1 when the ledger is served elsewhere, and nothing of it is to be begun here any more. */
  left: Int32Array;
}
