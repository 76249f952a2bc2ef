import type { MemorySource } from "@memslot/core";
import type { FileChunks, FileKey, KeywordAnswer, LineRange, StoredFile } from "./chunk-store.ts";

/** State of an indexed file. A different recipe requires indexing it again. */
export interface FileRecord extends Omit<StoredFile, "embedded"> {
  mtimeMs: number;
  size: number;
  /** State of the source reader for its next read, such as the read position of a file that only grows. */
  cursor?: string | undefined;
}

export interface IndexedFile extends FileRecord, FileChunks {}

type ChunkId = number | string;

export interface ChunkRow extends FileKey, LineRange {
  id: ChunkId;
  text: string;
  context: string;
  noteBytes?: number | undefined;
}

export type FoundRow = ChunkRow & { score: number };

export interface IndexKeywordAnswer extends Omit<KeywordAnswer, "rows"> {
  rows: FoundRow[];
}

export interface IndexVectorAnswer {
  /** Best first; `score` is cosine similarity, -1 to 1. With a scope nothing of it depends on what stands outside. */
  rows: FoundRow[];
}

export interface IndexStats {
  files: number;
  chunks: number;
  /** `bytes` of the files, `chunkBytes` of the texts of their chunks (UTF-8). */
  sources: { source: MemorySource; files: number; chunks: number; bytes: number; chunkBytes: number }[];
  cachedVectors: number;
  cachedVectorBytes: number;
  databaseBytes: number;
  walBytes: number;
  /** Bytes inside the file that hold nothing. */
  reusableBytes: number;
  /** Absent for a store without builds. */
  generation?: GenerationFacts | undefined;
}

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
  /** The same as `pending`, of the build that is being made. Absent if none is. */
  nextPending?: number | undefined;
}

export interface QuarantinedChunk extends FileKey, LineRange {
  hash: string;
  reason: string;
}

export interface IndexHealth {
  location: string;
  /** The index ends with the process, so its vectors would be paid for again. */
  isTemporary?: boolean | undefined;
  fts: { enabled: boolean; available: boolean; error?: string | undefined };
  vector: {
    enabled: boolean;
    available?: boolean | undefined;
    /** Vector engine of the last search, or of the next. */
    engine?: string | undefined;
    extensionPath?: string | undefined;
    loadError?: string | undefined;
  };
  /** How often it was recreated after damage since it was opened. Its content must be written again. */
  remade?: number | undefined;
  /** One line each: repairs and fallbacks that the user should know of. */
  notices: readonly string[];
  /** What `revision` would have said of the files that the last answer is of. */
  revision?: string | undefined;
  /** For a status, one line each. */
  remarks?: readonly string[] | undefined;
}

/** A write of the index: `to` is `from` plus that write only. Both are revisions. */
export interface RevisionStep {
  from: string;
  to: string;
}
