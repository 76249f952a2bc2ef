import type { MemorySource } from "@memslot/core";
import type { FileChunks, FileKey, KeywordAnswer, LineRange, StoredFile } from "./chunk-store.ts";

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
export interface ChunkRow extends FileKey, LineRange {
  id: ChunkId;
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
export interface QuarantinedChunk extends FileKey, LineRange {
  hash: string;
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
