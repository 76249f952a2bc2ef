import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type {
  Chunk,
  ChunkStore,
  FileChunks,
  QueryTerm,
  ScoredChunk,
  StoreBuild,
  StoredFile,
  StoreFiles,
} from "@memslot/indexing";
import type { Check } from "../runner.ts";

/** What a check of a store works with. */
interface StoreLab {
  /** Open on an empty folder. */
  store: ChunkStore;
  /** Closes the store and opens it again on the same folder. */
  reopen(): Promise<ChunkStore>;
  /** Opens one more store on the same folder, as another host would. It is closed with the check. */
  openBeside(): Promise<ChunkStore>;
}

/** What a store may leave out. */
export type StoreNeed = "build" | "compact" | "revision" | "embedded" | "reopens";

export interface StoreCheck extends Check<StoreLab> {
  needs?: readonly StoreNeed[];
}

export const bothSources: readonly string[] = ["memory", "sessions"];

/** The longest text that a hash of the checks can tell again, in bytes. */
const hashBytes = 32;

/**
 * 64 hexadecimal digits as a store is given them. Those of a short text are the text itself, so that what a search has
 * found can be told from its hash.
 */
export function hashOf(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length > hashBytes) return createHash("sha256").update(text).digest("hex");
  return bytes.toString("hex").padEnd(2 * hashBytes, "0");
}

/** The short text that a chunk has been found by. */
export function textOf({ hash }: Pick<ScoredChunk, "hash">): string {
  return Buffer.from(hash, "hex").toString().replace(/\0+$/u, "");
}

/** A chunk whose words are those of its text. */
export function chunkOf(text: string, startLine = 1): Chunk {
  const endLine = startLine + text.split("\n").length - 1;
  return { startLine, endLine, text, context: "", terms: text.toLowerCase(), hash: hashOf(text) };
}

/** A file with a chunk for each text, at the lines 1, 11, 21 and so on. */
export function fileOf(
  path: string,
  texts: readonly string[],
  options: { source?: string; hash?: string } = {},
): FileChunks {
  const { source = "memory", hash = createHash("sha256").update(texts.join("\n")).digest("hex") } = options;
  return { path, source, hash, recipe: "1", chunks: texts.map((text, index) => chunkOf(text, index * 10 + 1)) };
}

/** Begins a build, or goes on with it. */
export async function buildOf(store: ChunkStore, name: string): Promise<StoreBuild> {
  return (await store.build?.(name)) ?? assert.fail('the store had "build" before and has it no more');
}

export async function revisionOf(store: ChunkStore): Promise<string> {
  return (await store.revision?.()) ?? assert.fail('the store had "revision" before and has it no more');
}

/** What the store says of its files, in the order of their paths and sources. `embedded` is left out. */
export async function listIn(files: Pick<StoreFiles, "listFiles">): Promise<StoredFile[]> {
  const listed = (await files.listFiles()).map(({ path, source, hash, recipe }) => ({ path, source, hash, recipe }));
  const nameOf = ({ path, source }: StoredFile): string => JSON.stringify([path, source]);
  return listed.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

export async function pathsIn(files: Pick<StoreFiles, "listFiles">): Promise<string[]> {
  return (await listIn(files)).map(({ path }) => path);
}

export function exactly(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

/** The rows of both sources that hold one of the words. */
export async function rowsWith(store: ChunkStore, ...terms: string[]): Promise<readonly ScoredChunk[]> {
  return (await store.searchKeyword({ terms: exactly(...terms), sources: bothSources, limit: 5000 })).rows;
}

/** The short texts that hold one of the words, in alphabetical order. */
export async function textsWith(store: ChunkStore, ...terms: string[]): Promise<string[]> {
  return (await rowsWith(store, ...terms)).map(textOf).toSorted();
}

/** Where the chunks begin that hold a word, in alphabetical order. */
export async function placesWith(store: ChunkStore, term: string): Promise<string[]> {
  return (await rowsWith(store, term)).map(({ path, startLine }) => `${path}:${startLine}`).toSorted();
}

export async function chunkCountOf(store: ChunkStore): Promise<number> {
  return (await store.stats()).chunks;
}
