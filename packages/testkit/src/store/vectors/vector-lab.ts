import type { ChunkIndex, VectorSpace } from "@memslot/indexing";
import { bothSources, spaceOf, vectorOf } from "../lab.ts";

export const dimensions = 24;

/** A space of `dimensions`. */
export const one: VectorSpace = spaceOf("one", dimensions);
/** Another space of the same width. */
export const two: VectorSpace = spaceOf("two", dimensions);

/** The vector that a text's number stands for. */
export const byNumber = (text: string): Float32Array => vectorOf(Number(text), dimensions);

/** Gives every pending chunk its vector, and says how many there were. */
export async function embedAll(
  store: ChunkIndex,
  space: VectorSpace,
  vectorFor: (text: string) => Float32Array,
): Promise<number> {
  const pending = await store.pendingVectors(space, 10_000);
  await store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: vectorFor(text) })),
  );
  return pending.length;
}

/** The texts that are pending, in alphabetical order. */
export async function pendingTexts(store: ChunkIndex, space: VectorSpace): Promise<string[]> {
  return (await store.pendingVectors(space, 10_000)).map(({ text }) => text).toSorted();
}

/** The texts that are nearest to a vector, best first. */
export async function textsNear(
  store: ChunkIndex,
  space: VectorSpace,
  vector: Float32Array,
  limit = 10,
): Promise<string[]> {
  const { rows } = await store.searchVector({ space, vector, sources: bothSources, limit });
  return rows.map((row) => row.text);
}

/** How far a space is filled, for the build that answers. */
export async function countsIn(
  store: ChunkIndex,
  space: VectorSpace,
): Promise<{ embedded: number; pending: number; quarantined: number }> {
  const { embedded, pending, quarantined } = await store.spaceStats(space);
  return { embedded, pending, quarantined };
}
