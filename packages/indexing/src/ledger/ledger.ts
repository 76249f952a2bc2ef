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
} from "../index-row-types.ts";
import type { Pieces, Remote } from "./thread/remote-calls.ts";

/** The files of one build with their chunks. Writes of the active build return their revision step. */
export interface FileCalls {
  listFiles(): FileRecord[];
  /** Replaces each file, or its end (`fromLine`). A crash leaves whole files. */
  replaceFiles(files: readonly IndexedFile[]): RevisionStep | undefined;
  /** Records a new modification time for files whose content is the same. */
  touchFiles(files: readonly FileRecord[]): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[]): RevisionStep | undefined;
}

export type FileTable = Remote<FileCalls>;

/** Names of the write locks, each owned by one process at a time. */
export type LeaseName = "files" | "build";

/** Leases that end with their process, however it ends. Searches need none. */
export interface LeaseCalls {
  /** True: it is ours until `release`. False: another process has it. Never waits. */
  acquire(name: LeaseName, reason: string): boolean;
  release(name: LeaseName): void;
  /** Records the progress of the owner of `build` for other processes. Each call is a write. */
  report(progress: { completed: number; total: number; label?: string | undefined }): void;
  holder(name: LeaseName): WriterStatus | undefined;
}

export interface IndexLeases extends Remote<LeaseCalls> {
  slept?(name: LeaseName): number | undefined;
}

export interface MapAsked {
  /** By their vectors there; absent: by their words. */
  space?: VectorSpace | undefined;
  /** What `axes` of an earlier map says, which had as many: the picture stays as it was. */
  axes?: string | undefined;
  dimensions?: number | undefined;
}

/** The chunks of the build that answers as points, a list for each thing with an entry for each of them. */
export interface MappedPassages {
  files: readonly (FileKey & { mtimeMs: number })[];
  file: number[];
  startLine: number[];
  endLine: number[];
  x: number[];
  y: number[];
  passages: number;
  axes: string | undefined;
  /** The place of each point in all dimensions, -127 to 127, one point after the other. */
  fine: Int8Array | undefined;
}

export interface VectorCalls {
  /** Announces vector searches in this space, so that its vectors can be laid out for them. */
  useSpace(space: VectorSpace): void;
  /** Chunks without a vector in this space and not quarantined, each hash once, also of the next build. */
  pendingVectors(space: VectorSpace, limit: number): { hash: string; context: string; text: string }[];
  putVectors(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): void;
  /** Which of these hashes have a vector in this space. */
  knownVectors(space: VectorSpace, hashes: readonly string[]): string[];
  vectorOf(space: VectorSpace, hash: string): Float32Array | undefined;
  /** Chunks with a vector in this space, those with the lowest hashes: the same for the same notes. */
  sampleVectors(space: VectorSpace, count: number): { hash: string; text: string; vector: Float32Array }[];
  /** Quarantines texts that the provider refuses, except those with a vector. */
  quarantine(space: VectorSpace, entries: readonly { hash: string; reason: string }[]): void;
  /** The quarantined chunks of this space that are there, in the order of paths and lines. */
  quarantined(space: VectorSpace, limit: number): QuarantinedChunk[];
  releaseQuarantine(space: VectorSpace): void;
  spaces(): { space: VectorSpace; vectors: number }[];
  /** With `within`, of the chunks of these sources within the scope alone, and without `nextPending`. */
  spaceStats(space: VectorSpace, within?: Pick<VectorQuery, "sources" | "scope">): SpaceStats;
  /** Draws chunks on a plane: their vectors do not leave where they are kept. */
  mapPassages(asked: MapAsked): Pieces<MappedPassages>;
}

interface IndexCalls extends VectorCalls {
  /** All chunks of these files in order of path, source and line; texts are empty without `withText`. */
  listChunks(asked: FileFilter & { withText: boolean }): ChunkRow[];
  /** Replaces the active build by the next one atomically. */
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
  compact(): Pieces<CompactReport>;
  /** Bytes of each table, the largest first. Reads the whole file. */
  tables(): Pieces<{ name: string; bytes: number }[]>;
  /** Random chunks of the active build, at most `count`. */
  sample(count: number): (ChunkRow & { hash: string })[];
}

export interface UnacknowledgedVectors {
  space: VectorSpace;
  entries: readonly { hash: string; vector: Float32Array }[];
}

export interface Reconciled {
  /** Files that the store lacks or has in another version: the next sync reads them again. */
  lost: readonly FileKey[];
  /** Files that the store holds and the ledger does not know, or knows otherwise. */
  unknown: readonly StoredFile[];
}

export interface ExternalStoreCalls {
  /** The active chunks that these rows name, in order, without unknown ones. */
  rowsOf(found: readonly ScoredChunk[]): FoundRow[];
  /** Requests the vectors of this space for the store: all present and later ones become pending. */
  requestVectors(space: VectorSpace): void;
  /** Some of what is owed, of one space. Undefined if nothing is. It stays owed until `acknowledgeVectors`. */
  unacknowledgedVectors(limit: number): UnacknowledgedVectors | undefined;
  acknowledgeVectors(space: VectorSpace, hashes: readonly string[]): void;
  /** Records vectors of another host as embedded, for this store only. */
  importVectors(space: VectorSpace, files: readonly FileKey[]): void;
  /** Compares the files with those of the store and forgets what differs. */
  reconcile(held: readonly StoredFile[], build?: number): Reconciled;
}

/** The calls of a ledger thread. `build`: a number from `startBuild`. */
export interface LedgerCalls extends IndexCalls, ExternalStoreCalls {
  listFiles(build?: number): FileRecord[];
  replaceFiles(files: readonly IndexedFile[], build?: number): RevisionStep | undefined;
  touchFiles(files: readonly FileRecord[], build?: number): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[], build?: number): RevisionStep | undefined;
  revision(): string;
  startBuild(name: string): number;
  /** The unfinished build, of any process. `finishBuild` is about it from then on. */
  currentBuild(): { name: string; build: number } | undefined;
}

export interface LedgerBuild extends FileTable {
  build: number;
}

/** Files, chunks, vectors and builds in one SQLite file per agent and workspace, in its own thread. */
export interface Ledger extends Remote<IndexCalls & ExternalStoreCalls>, FileTable {
  /** Changes with every change of the active files. `fresh`: asks the database. */
  revision(how?: { fresh: boolean }): Promise<string>;
  /** Begins or resumes a build beside the active one; drops one of another name. Invisible until `finishBuild`. */
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
  /** True: only memslot writes there, so a file that is no database is set aside. */
  isOwnPlace?: boolean | undefined;
  owner?: { agentId: string; workspaceDir: string } | undefined;
  /** A folder for the locks of the leases, not beside the file. Absent: the ledger has no leases. */
  locksDir?: string | undefined;
  /** Vectors to keep beside those of the chunks that are there. */
  cacheMaxEntries: number;
  /** True: the process asks one question and ends; no thread is started if the file exists. */
  oneShot?: boolean | undefined;
  signal?: AbortSignal | undefined;
}
