import type { CallOptions, CompactReport, MemorySource } from "@memslot/core";

/** Names one file of one source. The same path may are in two sources. */
export interface FileKey {
  path: string;
  source: MemorySource;
}

/** What a store says of a file that it holds: the ledger is compared with it. */
export interface StoredFile extends FileKey {
  /** SHA-256 of the file's bytes, hexadecimal: as it was given. */
  hash: string;
  /** Names how the file was cut into chunks and words: as it was given. */
  recipe: string;
  /** Spaces in which every chunk of the file has a vector. Absent: everything handed over counts. */
  embedded?: readonly VectorSpace[] | undefined;
}

/** Lines of one file, 1-based and inclusive. */
export interface LineRange {
  startLine: number;
  endLine: number;
}

/** What a file is cut into, to be searched. */
export interface Chunk extends LineRange {
  /** The lines as they are shown. A store need not keep them. */
  text: string;
  /** The headings above the chunk: searched and embedded, not displayed. May be empty. */
  context: string;
  /** The words to index, made by the tokenizer and joined by spaces. No further analysis is wanted. */
  terms: string;
  /** SHA-256 of context and text: names the vector of this chunk. */
  hash: string;
}

/** A file with its chunks, in the order of their lines. */
export interface FileChunks extends Omit<StoredFile, "embedded"> {
  chunks: readonly Chunk[];
  /** Only chunks that begin at this line or later are replaced; absent: all of the file. */
  fromLine?: number | undefined;
}

/** A chunk that a search has found. */
export interface ScoredChunk extends FileKey {
  startLine: number;
  /** Of the chunk, as it was given. Of several that begin in one line it tells which. */
  hash: string;
  score: number;
}

/** A word of the query, already in the form that is in `Chunk.terms`. */
export interface QueryTerm {
  term: string;
  /** Match every indexed word that begins with it. */
  prefix: boolean;
}

/** Limits a search to paths; one that ends with `/` covers its folder, the empty one everything. */
export interface PathScope {
  within: readonly string[];
  without: readonly string[];
}

/** Which files a search is about. `isAsked` tells it of one file. */
export interface FileFilter {
  sources: readonly MemorySource[];
  /** Absent: all files of these sources. */
  scope?: PathScope | undefined;
}

/** Which state of a store an answer is to be of. */
export interface StateAsked {
  /** Accept this or a later `revision`. Absent or unknown: the current state. */
  at?: string | undefined;
}

export interface KeywordQuery extends FileFilter, StateAsked {
  /** Never empty. A chunk matches when it holds at least one of them. */
  terms: readonly QueryTerm[];
  /** At most so many rows. What is filtered out does not count. */
  limit: number;
}

/** With a scope, counts, scores and order depend on the chunks within it alone. */
export interface KeywordAnswer {
  /** Best first; `score` is BM25, positive. Never empty if one of these chunks contains a term. */
  rows: readonly ScoredChunk[];
  /** Chunks in the index; with a scope, of these sources within it. */
  chunkCount: number;
  /** For each term of the query, in its order: how many of these chunks hold it. */
  documentFrequencies: readonly number[];
  /** Why chunks that hold them may be missing. */
  incomplete?: string | undefined;
}

export interface VectorQuery extends FileFilter, StateAsked {
  space: VectorSpace;
  /** Unit length, of this space. */
  vector: Float32Array;
  /** At most so many rows. What is filtered out does not count. */
  limit: number;
}

export interface VectorAnswer {
  /** Best first; `score` is cosine similarity, -1 to 1. With a scope nothing of it depends on what stands outside. */
  rows: readonly ScoredChunk[];
}

/** Vectors that may be compared with each other. `spaceName` makes one text of it. */
export interface VectorSpace {
  provider: string;
  model: string;
  /** What else decides the vectors; empty when nothing does. */
  providerKey: string;
  dimensions: number;
}

export interface StoreStats {
  /** Location for display: a path or an address, without keys. */
  location: string;
  /** Chunks of the build that answers. */
  chunks: number;
  /** What it takes where it is kept. 0 where that is not known. */
  bytes: number;
  /** What the user should know of it, one line each: repairs, and what is used instead of something else. */
  notices?: readonly string[] | undefined;
  /** What is worth knowing of the place, one line each, for a status. */
  remarks?: readonly string[] | undefined;
}

/** What a store does with files, in the build that answers or in the one that is being made. */
export type StoreFiles = Pick<ChunkStore, "listFiles" | "replaceFiles" | "removeFiles">;

/** A build that is made beside the one that answers. Nothing of it is found by a search until `finish`. */
export interface StoreBuild extends StoreFiles {
  /** Replaces the active build in one step. The old one goes, at once or piece by piece. */
  finish(options?: CallOptions): Promise<void>;
  /** Drops it. */
  abandon(options?: CallOptions): Promise<void>;
}

/** Stores and searches chunks. Searches may overlap with one write; each file is written atomically. */
export interface ChunkStore {
  /** Every file that it holds. One without a chunk is held, too. */
  listFiles(how?: StateAsked & CallOptions): Promise<readonly StoredFile[]>;
  /** Replaces each file, or its end (`fromLine`). */
  replaceFiles(files: readonly FileChunks[], options?: CallOptions): Promise<void>;
  /** Takes files out. Those that it does not hold are skipped. */
  removeFiles(files: readonly FileKey[], options?: CallOptions): Promise<void>;
  /** Stores unit vectors for all chunks with these hashes, in the active and the new build, per space. */
  putVectors(
    space: VectorSpace,
    entries: readonly { hash: string; vector: Float32Array }[],
    options?: CallOptions,
  ): Promise<void>;
  /** Filters by source and scope before it counts to `limit`. */
  searchKeyword(query: KeywordQuery, options?: CallOptions): Promise<KeywordAnswer>;
  /** Compares with the vectors of this space only, and filters as `searchKeyword` does. Empty if there are none. */
  searchVector(query: VectorQuery, options?: CallOptions): Promise<VectorAnswer>;
  stats(how?: StateAsked & CallOptions): Promise<StoreStats>;
  close(): Promise<void>;
  /** Begins or resumes a build of this name; drops any other. Absent: rebuilds replace files in place. */
  build?(name: string, options?: CallOptions): Promise<StoreBuild>;
  /** Gives space back. Searches go on meanwhile. */
  compact?(options?: CallOptions): Promise<CompactReport>;
  /** Changes with every change of files or `embedded`. Absent: only this workspace and agent write. */
  revision?(options?: CallOptions): Promise<string>;
}

/** One text for a space, the same for the same space. */
export function spaceName({ provider, model, providerKey, dimensions }: VectorSpace): string {
  return JSON.stringify([provider, model, providerKey, dimensions]);
}

/** One text for a file, the same for the same file. */
export function fileName({ source, path }: FileKey): string {
  return `${source}\0${path}`;
}

/** A scope of these files alone. */
export function onlyIn(paths: Iterable<string>): PathScope {
  return { within: [...paths], without: [] };
}

/** True for a file of the sources and of the scope that a search names. */
export function isAsked({ path, source }: FileKey, { sources, scope }: FileFilter): boolean {
  const isAt = (place: string): boolean =>
    place === "" || place === path || (place.endsWith("/") && path.startsWith(place));
  if (!sources.includes(source)) return false;
  return scope === undefined || (scope.within.some(isAt) && !scope.without.some(isAt));
}
