import type { MemorySource } from "@memslot/core";

/** Names one file of one source. The same path may stand in two sources. */
export interface FileKey {
  path: string;
  source: MemorySource;
}

/** What a store remembers of a file, to tell whether it has changed. */
export interface StoredFile extends FileKey {
  /** SHA-256 of the file's bytes, hexadecimal. */
  hash: string;
  mtimeMs: number;
  /** Bytes. */
  size: number;
  /** Names how the file was cut into chunks and words. Another recipe means that the file has to be done again. */
  recipe: string;
}

/** A run of lines of one file. Lines are 1-based and inclusive. */
export interface Chunk {
  startLine: number;
  endLine: number;
  /** The lines as they are shown. */
  text: string;
  /** The headings that the chunk stands under: searched and embedded, not shown. May be empty. */
  context: string;
  /** The words to index, made by the tokenizer and joined by spaces. No further analysis is wanted. */
  terms: string;
  /** SHA-256 of context and text: names the vector of this chunk. */
  hash: string;
}

export interface FileChunks extends StoredFile {
  chunks: readonly Chunk[];
}

/** A store's own name for a chunk. */
export type ChunkId = number | string;

/** A chunk as a search gives it back. */
export interface ChunkRow extends FileKey {
  id: ChunkId;
  startLine: number;
  endLine: number;
  text: string;
  context: string;
}

/** A word of the query, already in the form that stands in `Chunk.terms`. */
export interface QueryTerm {
  term: string;
  /** Match every indexed word that begins with it. */
  prefix: boolean;
}

export interface KeywordQuery {
  /** Never empty. A chunk matches when it holds at least one of them. */
  terms: readonly QueryTerm[];
  sources: readonly MemorySource[];
  limit: number;
}

export interface KeywordAnswer {
  /** Best first; `score` is BM25, positive, higher is better. */
  rows: (ChunkRow & { score: number })[];
  /** Chunks in the index. */
  chunkCount: number;
  /** For each term of the query, in its order: how many chunks hold it. */
  documentFrequencies: number[];
}

export interface VectorQuery {
  space: VectorSpace;
  /** Unit length, of this space. */
  vector: Float32Array;
  sources: readonly MemorySource[];
  limit: number;
}

export interface VectorAnswer {
  /** Best first; `score` is cosine similarity, -1 to 1. */
  rows: (ChunkRow & { score: number })[];
}

/** Vectors that may be compared with each other. */
export interface VectorSpace {
  provider: string;
  model: string;
  /** What else decides the vectors; empty when nothing does. */
  providerKey: string;
  dimensions: number;
}

export interface StoreStats {
  files: number;
  chunks: number;
  sources: { source: MemorySource; files: number; chunks: number }[];
  /** Vectors kept, over all spaces. */
  cachedVectors: number;
  databaseBytes: number;
  walBytes: number;
}

/** How far a space is filled, in chunks. */
export interface SpaceStats {
  embedded: number;
  /** Chunks without a vector that are not quarantined. */
  pending: number;
  quarantined: number;
}

/** A text that the provider of a space refuses, and where it stands. */
export interface QuarantinedChunk extends FileKey {
  hash: string;
  startLine: number;
  endLine: number;
  reason: string;
}

/** Facts about the store that can be read without waiting. */
export interface StoreHealth {
  location: string;
  fts: { enabled: boolean; available: boolean; error?: string | undefined };
  vector: {
    enabled: boolean;
    available?: boolean | undefined;
    extensionPath?: string | undefined;
    loadError?: string | undefined;
  };
  /** One line each: repairs and fallbacks that the user should know of. */
  notices: readonly string[];
}

/**
 * Keeps chunks and finds them again. Everything else (which files there are, how they are cut, when they are stale,
 * how two legs become one list) is done by this package, once, for all stores.
 *
 * A write is whole or not at all for each file. Calls may overlap. After `close` nothing is called.
 */
export interface ChunkStore {
  listFiles(): Promise<StoredFile[]>;
  /** Puts each file in place of what the store held for it. A crash leaves whole files. */
  replaceFiles(files: readonly FileChunks[]): Promise<void>;
  /** Records a new modification time for files whose content is the same. */
  touchFiles(files: readonly StoredFile[]): Promise<void>;
  removeFiles(files: readonly FileKey[]): Promise<void>;
  /** Filters by source before it counts to `limit`. */
  searchKeyword(query: KeywordQuery): Promise<KeywordAnswer>;
  /**
   * Searches by meaning are about to be made in this space: a store may lay its vectors out for fast search. Every other
   * call works in any space without it. Vectors of other spaces are kept.
   */
  useSpace(space: VectorSpace): Promise<void>;
  /** Compares with the vectors of this space only. */
  searchVector(query: VectorQuery): Promise<VectorAnswer>;
  /** Chunks that have no vector in this space and are not quarantined, each hash once. */
  pendingVectors(space: VectorSpace, limit: number): Promise<{ hash: string; context: string; text: string }[]>;
  /** Stores vectors, and takes their hashes out of quarantine. */
  putVectors(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): Promise<void>;
  /** Which of these hashes have a vector in this space. */
  knownVectors(space: VectorSpace, hashes: readonly string[]): Promise<string[]>;
  /** Remembers texts that the provider of this space refuses, but for those that have a vector. They stay in keyword search. */
  quarantine(space: VectorSpace, entries: readonly { hash: string; reason: string }[]): Promise<void>;
  /** The quarantined chunks of this space that are there, in the order of paths and lines. */
  quarantined(space: VectorSpace, limit: number): Promise<QuarantinedChunk[]>;
  /** Lets every quarantined text of this space be tried again. */
  releaseQuarantine(space: VectorSpace): Promise<void>;
  /** Every space that has vectors, and how many, the one that was written to last first. */
  spaces(): Promise<{ space: VectorSpace; vectors: number }[]>;
  spaceStats(space: VectorSpace): Promise<SpaceStats>;
  /** Tries the vector leg for real. */
  probeVector(): Promise<boolean>;
  stats(): Promise<StoreStats>;
  health(): StoreHealth;
  close(): Promise<void>;
}
