import type { CallOptions, CompactReport, IndexFinding, MemorySource, WriterStatus } from "@memslot/core";
import type {
  FileChunks,
  FileFilter,
  FileKey,
  KeywordAnswer,
  KeywordQuery,
  StoredFile,
  VectorQuery,
  VectorSpace,
} from "./chunk-store.ts";
import type { Pieces, Remote } from "./ledger/thread/remote.ts";

/** What a store remembers of a file, to tell whether it has changed. Another recipe means that it has to be done again. */
export interface FileRecord extends Omit<StoredFile, "embedded"> {
  mtimeMs: number;
  /** Bytes. */
  size: number;
  /**
   * What whoever reads the file wants to know of it the next time, in its own words: the state in which it was read, or
   * where the reading of one that only grows goes on.
   */
  cursor?: string | undefined;
}

export interface IndexedFile extends FileRecord, FileChunks {}

/** A store's own name for a chunk. */
type ChunkId = number | string;

/** A chunk as a search gives it back. */
export interface ChunkRow extends FileKey {
  id: ChunkId;
  startLine: number;
  endLine: number;
  text: string;
  context: string;
  /** Bytes (UTF-8) of the texts of all chunks of its file. */
  noteBytes?: number | undefined;
}

/** A chunk that a search has found. */
export type FoundRow = ChunkRow & { score: number };

export interface IndexKeywordAnswer extends Omit<KeywordAnswer, "rows"> {
  rows: FoundRow[];
}

export interface IndexVectorAnswer {
  /** Best first; `score` is cosine similarity, -1 to 1. With a scope nothing of it depends on what stands outside. */
  rows: FoundRow[];
}

/** Counts of the build that answers. */
export interface IndexStats {
  files: number;
  chunks: number;
  /** `bytes` of the files, `chunkBytes` of the texts of their chunks (UTF-8). */
  sources: { source: MemorySource; files: number; chunks: number; bytes: number; chunkBytes: number }[];
  /** Vectors kept, over all spaces. */
  cachedVectors: number;
  /** Bytes of their numbers. */
  cachedVectorBytes: number;
  databaseBytes: number;
  walBytes: number;
  /** Bytes inside the file that hold nothing. */
  reusableBytes: number;
  /** Absent for a store without builds. */
  generation?: GenerationFacts | undefined;
}

/** Times in milliseconds since 1970. */
export interface GenerationFacts {
  /** Goes up by one with each build. */
  id: number;
  builtAt?: number | undefined;
  next?: { id: number; name: string; startedAt: number; files: number; chunks: number } | undefined;
}

/** How far a space is filled, in chunks of the build that answers. */
export interface SpaceStats {
  embedded: number;
  /** Chunks without a vector that are not quarantined. */
  pending: number;
  quarantined: number;
  /** The same as `pending`, of the build that is being made. Absent where none is. */
  nextPending?: number | undefined;
}

/** A text that the provider of a space refuses, and where it stands. */
export interface QuarantinedChunk extends FileKey {
  hash: string;
  startLine: number;
  endLine: number;
  reason: string;
}

/** Facts about the store that can be read without waiting. */
export interface IndexHealth {
  location: string;
  /** What is in it ends with the process, so that its vectors would be paid for again each time. */
  isTemporary?: boolean | undefined;
  fts: { enabled: boolean; available: boolean; error?: string | undefined };
  vector: {
    enabled: boolean;
    available?: boolean | undefined;
    /** What has compared the vectors of the last search, or is going to. */
    engine?: string | undefined;
    extensionPath?: string | undefined;
    loadError?: string | undefined;
  };
  /** How often it was found damaged or gone since it was opened, and begun anew: whatever was in it has to be written again. */
  remade?: number | undefined;
  /** One line each: repairs and fallbacks that the user should know of. */
  notices: readonly string[];
  /** What `revision` would have said of the files that the last answer is of. */
  revision?: string | undefined;
  /** For a status, one line each. */
  remarks?: readonly string[] | undefined;
}

/** What a write has made of the index: `to` is `from` with that write and nothing else. Both as `revision` says them. */
export interface RevisionStep {
  from: string;
  to: string;
}

/**
 * The files of one build of the index, with their chunks. A write of the build that answers says which step it was, where that
 * is known.
 */
export interface FileTable {
  listFiles(): Promise<FileRecord[]>;
  /**
   * Puts each file in place of what the store held for it, or of its end (`fromLine`). A crash leaves whole files.
   */
  replaceFiles(files: readonly IndexedFile[]): Promise<RevisionStep | void>;
  /** Records a new modification time for files whose content is the same. */
  touchFiles(files: readonly FileRecord[]): Promise<RevisionStep | void>;
  removeFiles(files: readonly FileKey[]): Promise<RevisionStep | void>;
}

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
   * Only those of a place that several hosts share have it. For how many milliseconds this host was not heard of while it held the right, where that was so long that another one
   * may have taken it: it was asleep.
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
  /** 2 if left out. Of more, `fine` has all. */
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
  /** Absent where nothing is drawn. */
  axes: string | undefined;
  /** The place of each point in all dimensions, -127 to 127, one point behind the other; behind them that of the query, where it has one. */
  fine: Int8Array | undefined;
  query: [x: number, y: number] | undefined;
}

/** The calls of an index that are about vectors. */
export interface VectorCalls {
  /**
   * Searches by meaning are about to be made in this space: its vectors may be laid out for fast search. Every other call
   * works in any space without it. Vectors of other spaces are kept.
   */
  useSpace(space: VectorSpace): void;
  /** Chunks that have no vector in this space and are not quarantined, each hash once, also those of a build that is being made. */
  pendingVectors(space: VectorSpace, limit: number): { hash: string; context: string; text: string }[];
  /** Stores vectors, and takes their hashes out of quarantine. */
  putVectors(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): void;
  /** Which of these hashes have a vector in this space. */
  knownVectors(space: VectorSpace, hashes: readonly string[]): string[];
  /** The vector of a text in this space. */
  vectorOf(space: VectorSpace, hash: string): Float32Array | undefined;
  /** So many chunks that have a vector in this space, those with the lowest hashes: the same for the same notes. */
  sampleVectors(space: VectorSpace, count: number): { hash: string; text: string; vector: Float32Array }[];
  /** Remembers texts that the provider of this space refuses, but for those that have a vector. They stay in keyword search. */
  quarantine(space: VectorSpace, entries: readonly { hash: string; reason: string }[]): void;
  /** The quarantined chunks of this space that are there, in the order of paths and lines. */
  quarantined(space: VectorSpace, limit: number): QuarantinedChunk[];
  /** Lets every quarantined text of this space be tried again. */
  releaseQuarantine(space: VectorSpace): void;
  /** Every space that has vectors, and how many, the one that was written to last first. */
  spaces(): { space: VectorSpace; vectors: number }[];
  /** With `within`, of the chunks of these sources within the scope alone, and without `nextPending`. */
  spaceStats(space: VectorSpace, within?: Pick<VectorQuery, "sources" | "scope">): SpaceStats;
  /** Draws chunks on a plane: their vectors do not leave where they are kept. */
  mapPassages(asked: MapAsked): Pieces<MappedPassages>;
}

/** The calls of an index that its ledger answers, as the thread of the ledger has them. */
export interface IndexCalls extends VectorCalls {
  /**
   * All chunks of these files, in the order of paths, sources and lines. Without `withText` their texts are empty: there may
   * be very many.
   */
  listChunks(asked: FileFilter & { withText: boolean }): ChunkRow[];
  /** Puts the build that `startBuild` has begun in place of the one that answers, in one step. The old one is deleted piece by piece. */
  finishBuild(): void;
  /** Drops it. */
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

/**
 * Keeps chunks and finds them again. Everything else (which files there are, how they are cut, when they are stale,
 * how two legs become one list) is done by this package, once, for all stores.
 *
 * A write is whole or not at all for each file. Calls may overlap. After `close` nothing is called.
 */
export interface ChunkIndex extends Remote<IndexCalls>, FileTable {
  /**
   * Takes over those files that another host has put into the store in this very form, and gives how many they are. Nothing
   * is written to the store, so it needs no right to write there. Absent: no other host writes there.
   */
  adoptFiles?(files: readonly IndexedFile[]): Promise<number>;
  /**
   * Changes with every change of the files that answer, whichever process makes it. Gives the one that is known from the
   * last answer. `fresh`: asks for it; each search and each scan does so once.
   */
  revision(how?: { fresh: boolean }): Promise<string>;
  /**
   * Begins a whole new build beside the one that answers, or goes on with the one of this name. At most one is being made,
   * and one of another name is dropped. Nothing of it is found by a search until `finishBuild`. It outlives the process.
   * Absent: a rebuild replaces one file after the other in place.
   */
  startBuild?: ((name: string) => Promise<FileTable>) | undefined;
  /** Absent: only this process writes. */
  leases?: IndexLeases | undefined;
  /**
   * Hands the vectors of this space that are known already to a store elsewhere, before a question waits for that. Absent:
   * they are where they are searched.
   */
  giveVectors?: ((space: VectorSpace) => Promise<void>) | undefined;
  /** Filters by source and scope before it counts to `limit`. */
  searchKeyword(query: KeywordQuery, options?: CallOptions): Promise<IndexKeywordAnswer>;
  /** Compares with the vectors of this space only. */
  searchVector(query: VectorQuery, options?: CallOptions): Promise<IndexVectorAnswer>;
  compact(options?: CallOptions): Promise<CompactReport>;
  health(): IndexHealth;
  close(): Promise<void>;
}

/** What is known of vector spaces beside their vectors. */
export type SpaceFacts = Pick<ChunkIndex, "note" | "noted" | "sampleVectors">;
