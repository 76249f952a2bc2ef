import type { CompactReport, IndexFinding, WriterStatus } from "@memslot/core";
import type { FileFilter, FileKey, ScoredChunk, StoredFile, VectorQuery, VectorSpace } from "../chunk-store.ts";
import type {
  ChunkRow,
  FileRecord,
  FoundRow,
  IndexedFile,
  IndexHealth,
  IndexStats,
  QuarantinedChunk,
  RevisionStep,
  SpaceStats,
} from "../index-records.ts";
import type { Pieces, Remote } from "./thread/remote.ts";

/**
 * The files of one build, with their chunks. A write of the build that answers says which step it was, where that is
 * known.
 */
export interface FileCalls {
  listFiles(): FileRecord[];
  /** Replaces each file, or its end (`fromLine`). A crash leaves whole files. */
  replaceFiles(files: readonly IndexedFile[]): RevisionStep | undefined;
  /** Records a new modification time for files whose content is the same. */
  touchFiles(files: readonly FileRecord[]): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[]): RevisionStep | undefined;
}

export type FileTable = Remote<FileCalls>;

/** The right to work on the index, given to one at a time over all processes. */
export type LeaseName = "files" | "build";

/** Leases that end with the process that holds them, however it ends, as a thread answers them. Searches need none. */
export interface LeaseCalls {
  /** True: it is ours until `release`. False: another process has it. Never waits. */
  acquire(name: LeaseName, reason: string): boolean;
  release(name: LeaseName): void;
  /** Says how far the holder of `build` is, for others to read. May be called as often as one likes. */
  report(progress: { completed: number; total: number; label?: string | undefined }): void;
  /** Who has it now. */
  holder(name: LeaseName): WriterStatus | undefined;
}

export interface IndexLeases extends Remote<LeaseCalls> {
  /**
   * Only those of a place that several hosts share have it. For how many milliseconds this host was not heard of while
   * it held the right, where that was so long that another one may have taken it: it was asleep.
   */
  slept?(name: LeaseName): number | undefined;
}

/** How passages are drawn. */
export interface MapAsked {
  /** By their vectors there; absent: by their words. */
  space?: VectorSpace | undefined;
  /** What is to be drawn beside them: a vector of the space, or words. */
  query?: Float32Array | string | undefined;
  /** What `axes` of an earlier map says, which had as many: the picture stays as it was. */
  axes?: string | undefined;
  dimensions?: number | undefined;
}

/** The chunks of the build that answers as points, a list for each thing with an entry for each of them. */
export interface MappedPassages {
  files: readonly (FileKey & { mtimeMs: number })[];
  /** Of each point the index of its file, its lines, and its place, -1 to 1. */
  file: number[];
  startLine: number[];
  endLine: number[];
  x: number[];
  y: number[];
  /** Chunks that there are. */
  passages: number;
  /** Absent if nothing is drawn. */
  axes: string | undefined;
  /**
   * The place of each point in all dimensions, -127 to 127, one point behind the other; behind them that of the query,
   * where it has one.
   */
  fine: Int8Array | undefined;
  query: [x: number, y: number] | undefined;
}

/** The calls of an index that are about vectors. */
export interface VectorCalls {
  /**
   * Announces vector searches in this space: its vectors may be laid out for fast search. Every other
   * call works in any space without it. Vectors of other spaces are kept.
   */
  useSpace(space: VectorSpace): void;
  /**
   * Chunks that have no vector in this space and are not quarantined, each hash once, also those of a build that is
   * being made.
   */
  pendingVectors(space: VectorSpace, limit: number): { hash: string; context: string; text: string }[];
  /** Stores vectors, and takes their hashes out of quarantine. */
  putVectors(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): void;
  /** Which of these hashes have a vector in this space. */
  knownVectors(space: VectorSpace, hashes: readonly string[]): string[];
  /** The vector of a text in this space. */
  vectorOf(space: VectorSpace, hash: string): Float32Array | undefined;
  /** So many chunks that have a vector in this space, those with the lowest hashes: the same for the same notes. */
  sampleVectors(space: VectorSpace, count: number): { hash: string; text: string; vector: Float32Array }[];
  /**
   * Remembers texts that the provider of this space refuses, but for those that have a vector. They stay in keyword
   * search.
   */
  quarantine(space: VectorSpace, entries: readonly { hash: string; reason: string }[]): void;
  /** The quarantined chunks of this space that are there, in the order of paths and lines. */
  quarantined(space: VectorSpace, limit: number): QuarantinedChunk[];
  /** Lets every quarantined text of this space be tried again. */
  releaseQuarantine(space: VectorSpace): void;
  spaces(): { space: VectorSpace; vectors: number }[];
  /** With `within`, of the chunks of these sources within the scope alone, and without `nextPending`. */
  spaceStats(space: VectorSpace, within?: Pick<VectorQuery, "sources" | "scope">): SpaceStats;
  /** Draws chunks on a plane: their vectors do not leave where they are kept. */
  mapPassages(asked: MapAsked): Pieces<MappedPassages>;
}

/** The calls of an index that its ledger answers, as the thread of the ledger has them. */
interface IndexCalls extends VectorCalls {
  /**
   * All chunks of these files, in the order of paths, sources and lines. Without `withText` their texts are empty:
   * there may be very many.
   */
  listChunks(asked: FileFilter & { withText: boolean }): ChunkRow[];
  /**
   * Replaces the active build by the one of `startBuild`, in one step. The old one is deleted
   * piece by piece.
   */
  finishBuild(): void;
  abandonBuild(): void;
  /** A small fact, kept with the index. `undefined` forgets it. */
  note(name: string, value: string | undefined): void;
  noted(name: string): string | undefined;
  stats(): IndexStats;
  /** Compares its tables with each other. Reads only. */
  check(): Pieces<IndexFinding[]>;
  /** Rebuilds what is derived from other tables where it is wrong. Says what was done. */
  repair(): Pieces<IndexFinding[]>;
  /** Gives space back to the file system. Searches go on meanwhile. */
  compact(): Pieces<CompactReport>;
  /** Bytes of each table, the largest first. Reads the whole file. */
  tables(): Pieces<{ name: string; bytes: number }[]>;
  /** So many chunks of the build that answers, chosen at random, fewer where there are fewer. */
  sample(count: number): (ChunkRow & { hash: string })[];
}

/** Vectors of one space that the store is owed. */
export interface UnacknowledgedVectors {
  space: VectorSpace;
  entries: readonly { hash: string; vector: Float32Array }[];
}

/** What a comparison of the ledger with the list of a store has shown, and what the ledger made of it. */
export interface Reconciled {
  /**
   * Files that the store does not hold as the ledger has them: they are forgotten, and the next sync reads them again.
   */
  lost: readonly FileKey[];
  /** Files that the store holds and the ledger does not know, or knows otherwise. */
  unknown: readonly StoredFile[];
}

/** The calls of a ledger that are for a store elsewhere. */
export interface ElsewhereCalls {
  /**
   * The chunks of the build that answers that these rows name, in their order. Left out: what the ledger does not know.
   */
  rowsOf(found: readonly ScoredChunk[]): FoundRow[];
  /**
   * The store is to have the vectors of this space from now on: those of all chunks are owed to it, unless they have
   * been given before. From then on `replaceFiles`, `putVectors` and a build owe what they bring.
   */
  requestVectors(space: VectorSpace): void;
  /** Some of what is owed, of one space. Undefined if nothing is. It stays owed until `acknowledgeVectors`. */
  unacknowledgedVectors(limit: number): UnacknowledgedVectors | undefined;
  /** The store has them. */
  acknowledgeVectors(space: VectorSpace, hashes: readonly string[]): void;
  /**
   * The store has vectors for all chunks of these files in this space, which another host has made: for this store they
   * count as embedded. Their numbers are not known here, so that they count for no other store.
   */
  importVectors(space: VectorSpace, files: readonly FileKey[]): void;
  /**
   * Compares its files with those that the store holds, of the build that answers or of the one with this number. What
   * differs in hash or recipe, or is not held, is forgotten. Where `embedded` says so, vectors are adopted or owed
   * again.
   */
  reconcile(held: readonly StoredFile[], build?: number): Reconciled;
}

/**
 * What the thread of a ledger answers. With `build`, a number that `startBuild` has given, a call is about that build.
 */
export interface LedgerCalls extends IndexCalls, ElsewhereCalls {
  listFiles(build?: number): FileRecord[];
  replaceFiles(files: readonly IndexedFile[], build?: number): RevisionStep | undefined;
  touchFiles(files: readonly FileRecord[], build?: number): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[], build?: number): RevisionStep | undefined;
  revision(): string;
  startBuild(name: string): number;
  /** The build that is being made, whoever began it. `finishBuild` is about it from then on. */
  currentBuild(): { name: string; build: number } | undefined;
}

/** The files of one build in the ledger. `build` is the number that `startBuild` has given. */
export interface LedgerBuild extends FileTable {
  build: number;
}

/**
 * What is known of files, chunks, vectors and builds, whatever the store: one SQLite file for an agent and a workspace,
 * in a thread of its own. It keeps the texts of the chunks and every vector once; a store keeps what it needs to find
 * them. Several stores can have their files in one ledger, each knows its own only; the vectors are for all of them.
 */
export interface Ledger extends Remote<IndexCalls & ElsewhereCalls>, FileTable {
  /**
   * Changes with every change of the files that answer, whichever process makes it. Gives the one that is known from
   * the last answer. `fresh`: asks for it; each search and each scan does so once.
   */
  revision(how?: { fresh: boolean }): Promise<string>;
  /**
   * Begins a whole new build beside the one that answers, or resumes the one of this name. At most one is being made,
   * and one of another name is dropped. Nothing of it is found by a search until `finishBuild`. It outlives the
   * process.
   */
  startBuild(name: string): Promise<LedgerBuild>;
  currentBuild(): Promise<{ name: string; table: LedgerBuild } | undefined>;
  /** Absent: only this process writes. */
  leases?: IndexLeases | undefined;
  health(): IndexHealth;
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Whose files these are, such as `memory-lancedb`: each store has its own in the same ledger. */
  store: string;
  /** Absolute path of the database file. It is made if missing, with its folder. */
  path: string;
  /** False: a ledger that is not there is not made on disk, only in memory for as long as it is open. */
  mayCreate?: boolean | undefined;
  /**
   * True: no other program puts a file there, as in the state folder. One that is no database is set
   * aside.
   */
  isOwnPlace?: boolean | undefined;
  owner?: { agentId: string; workspaceDir: string } | undefined;
  /** A folder for the locks of the leases, not beside the file. Absent: the ledger has no leases. */
  locksDir?: string | undefined;
  /** Vectors to keep beside those of the chunks that are there. */
  cacheMaxEntries: number;
  /** True: whoever opens it asks one question and ends, for which no thread is started where the file is there. */
  oneShot?: boolean | undefined;
  /** Gives up opening. */
  signal?: AbortSignal | undefined;
}
