import type { ChunkStore, ScoredChunk, VectorSpace } from "@memslot/indexing";
import { randomFrom } from "../../helpers/random.ts";
import { bothSources, hashOf, textOf } from "../lab.ts";

export const dimensions = 24;

export function spaceOf(model: string, width: number): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions: width };
}

/** A space of `dimensions`. */
export const one: VectorSpace = spaceOf("one", dimensions);
/** Another space of the same width. */
export const two: VectorSpace = spaceOf("two", dimensions);

/** A vector of unit length that depends on nothing but the seed. */
export function vectorOf(seed: number, width: number): Float32Array {
  const random = randomFrom(seed);
  const raw = Float32Array.from({ length: width }, () => random() * 2 - 1);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** The vector that a text's number stands for. */
export const byNumber = (text: string): Float32Array => vectorOf(Number(text), dimensions);

/** Gives the vectors of these texts. */
export async function embed(
  store: ChunkStore,
  space: VectorSpace,
  texts: readonly string[],
  vectorFor: (text: string) => Float32Array = byNumber,
): Promise<void> {
  await store.putVectors(
    space,
    texts.map((text) => ({ hash: hashOf(text), vector: vectorFor(text) })),
  );
}

/** The chunks that are nearest to a vector, best first. */
export async function rowsNear(
  store: ChunkStore,
  space: VectorSpace,
  vector: Float32Array,
  limit = 10,
): Promise<readonly ScoredChunk[]> {
  return (await store.searchVector({ space, vector, sources: bothSources, limit })).rows;
}

/** The short texts that are nearest to a vector, best first. */
export async function textsNear(
  store: ChunkStore,
  space: VectorSpace,
  vector: Float32Array,
  limit = 10,
): Promise<string[]> {
  return (await rowsNear(store, space, vector, limit)).map(textOf);
}
