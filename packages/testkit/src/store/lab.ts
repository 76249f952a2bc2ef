import { createHash } from "node:crypto";
import { randomFrom } from "../helpers/random.ts";
import type { Check } from "../runner.ts";
import type { Chunk, ChunkIndex, IndexedFile, QueryTerm, FileRecord, VectorSpace } from "@memslot/indexing";

/** What a check of a store works with. */
interface StoreLab {
  /** Open on an empty folder. */
  store: ChunkIndex;
  /** Closes the store and opens it again on the same folder. */
  reopen(): Promise<ChunkIndex>;
  /** Opens one more store on the same folder, as another process would. It is closed with the check. */
  openBeside(): Promise<ChunkIndex>;
}

export type StoreNeed = "keyword" | "vector" | "reopens" | StorePart;

/** What a store may leave out. */
type StorePart = "revision" | "builds" | "leases" | "upkeep";

export interface StoreCheck extends Check<StoreLab> {
  needs?: readonly StoreNeed[];
}

export const bothSources: readonly string[] = ["memory", "sessions"];

/** A chunk whose words are those of its text. */
export function chunkOf(text: string, startLine = 1): Chunk {
  const endLine = startLine + text.split("\n").length - 1;
  return { startLine, endLine, text, context: "", terms: text.toLowerCase(), hash: sha256(text) };
}

export function fileOf(
  path: string,
  texts: readonly string[],
  options: { source?: string; hash?: string } = {},
): IndexedFile {
  const { source = "memory", hash = sha256(texts.join("\n")) } = options;
  const chunks = texts.map((text, index) => chunkOf(text, index * 10 + 1));
  return { path, source, hash, mtimeMs: 1_760_000_000_123.5, size: texts.join("\n").length, recipe: "1", chunks };
}

/** A part of the store that the check says it needs. */
export function partOf<Part extends StorePart>(store: ChunkIndex, part: Part): NonNullable<ChunkIndex[Part]> {
  const found = store[part];
  if (found === undefined) throw new Error(`the store had "${part}" before and has it no more`);
  return found;
}

/** The facts of all files, sorted by path. A fact that is undefined is absent. */
export async function factsIn(table: Pick<ChunkIndex, "listFiles">): Promise<FileRecord[]> {
  const files = JSON.parse(JSON.stringify(await table.listFiles())) as FileRecord[];
  return files.toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

export async function pathsIn(table: Pick<ChunkIndex, "listFiles">): Promise<string[]> {
  return (await factsIn(table)).map(({ path }) => path);
}

export function exactly(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function spaceOf(model: string, dimensions: number): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** A vector of unit length that depends on nothing but the seed. */
export function vectorOf(seed: number, dimensions: number): Float32Array {
  const random = randomFrom(seed);
  const raw = Float32Array.from({ length: dimensions }, () => random() * 2 - 1);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** Finds chunks by words and gives back their texts. */
export async function textsWith(store: ChunkIndex, ...terms: string[]): Promise<string[]> {
  const { rows } = await store.searchKeyword({ terms: exactly(...terms), sources: bothSources, limit: 100 });
  return rows.map((row) => row.text);
}
