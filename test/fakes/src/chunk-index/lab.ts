import { createHash } from "node:crypto";
import type { Chunk, ChunkIndex, FileRecord, IndexedFile, QueryTerm, VectorSpace } from "@memslot/indexing";

/** What a check of an index works with. */
interface IndexLab {
  /** Open on an empty folder. */
  index: ChunkIndex;
  /** Closes the index and opens it again on the same folder. */
  reopen(): Promise<ChunkIndex>;
  /** Opens one more on the same folder, as another process would. It is closed with the check. */
  openBeside(): Promise<ChunkIndex>;
}

/** What an index may leave out. */
type IndexPart = "revision" | "builds" | "leases" | "upkeep";

export type IndexNeed = IndexPart | "reopens";

export interface IndexCheck {
  name: string;
  needs?: readonly IndexNeed[];
  run(lab: IndexLab): Promise<void>;
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

/** A part of the index that the check says it needs. */
export function partOf<Part extends IndexPart>(index: ChunkIndex, part: Part): NonNullable<ChunkIndex[Part]> {
  const found = index[part];
  if (found === undefined) throw new Error(`the index had "${part}" before and has it no more`);
  return found;
}

/** The facts of all files, sorted by path. A fact that is undefined is absent. */
export async function factsIn(table: Pick<ChunkIndex, "listFiles">): Promise<FileRecord[]> {
  const files = JSON.parse(JSON.stringify(await table.listFiles())) as FileRecord[];
  return files.toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

export function exactly(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Finds chunks by words and gives back their texts. */
export async function textsWith(index: ChunkIndex, ...terms: string[]): Promise<string[]> {
  const { rows } = await index.searchKeyword({ terms: exactly(...terms), sources: bothSources, limit: 100 });
  return rows.map((row) => row.text);
}

export const dimensions = 24;

export function spaceOf(model: string, width: number): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions: width };
}

/** A space of `dimensions`. */
export const one: VectorSpace = spaceOf("one", dimensions);
/** Another space of the same width. */
export const two: VectorSpace = spaceOf("two", dimensions);

/** A vector of unit length that depends on nothing but the seed. */
export function vectorOf(seed: number | string, width: number): Float32Array {
  const raw = Float32Array.from({ length: width }, (_, at) => {
    const bytes = createHash("sha256").update(`${seed} ${at}`).digest();
    return bytes.readUInt32BE(0) / 2 ** 31 - 1;
  });
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** The vector that a text's number stands for. */
export const byNumber = (text: string): Float32Array => vectorOf(text, dimensions);

/** Gives every pending chunk its vector, and says how many there were. */
export async function embedAll(
  index: ChunkIndex,
  space: VectorSpace,
  vectorFor: (text: string) => Float32Array,
): Promise<number> {
  const pending = await index.pendingVectors(space, 10_000);
  const entries = pending.map(({ hash, text }) => ({ hash, vector: vectorFor(text) }));
  await index.putVectors(space, entries);
  return pending.length;
}

/** The texts that are pending, in alphabetical order. */
export async function pendingTexts(index: ChunkIndex, space: VectorSpace): Promise<string[]> {
  return (await index.pendingVectors(space, 10_000)).map(({ text }) => text).toSorted();
}

/** The texts that are nearest to a vector, best first. */
export async function textsNear(
  index: ChunkIndex,
  space: VectorSpace,
  vector: Float32Array,
  limit = 10,
): Promise<string[]> {
  const { rows } = await index.searchVector({ space, vector, sources: bothSources, limit });
  return rows.map((row) => row.text);
}

/** How far a space is filled, for the build that answers. */
export async function countsIn(
  index: ChunkIndex,
  space: VectorSpace,
): Promise<{ embedded: number; pending: number; quarantined: number }> {
  const { embedded, pending, quarantined } = await index.spaceStats(space);
  return { embedded, pending, quarantined };
}
