import type { ChunkStore } from "@memslot/indexing";
import { bothSources, vectorOf } from "./lab.ts";

export const dimensions = 24;

/** The vector that a text's number stands for. */
export const byNumber = (text: string): Float32Array => vectorOf(Number(text), dimensions);

/** Gives every pending chunk its vector, and says how many there were. */
export async function embedAll(store: ChunkStore, vectorFor: (text: string) => Float32Array): Promise<number> {
  const pending = await store.pendingVectors(10_000);
  await store.putVectors(pending.map(({ hash, text }) => ({ hash, vector: vectorFor(text) })));
  return pending.length;
}

/** The texts that are nearest to a vector, best first. */
export async function textsNear(store: ChunkStore, vector: Float32Array, limit = 10): Promise<string[]> {
  const { rows } = await store.searchVector({ vector, sources: bothSources, limit });
  return rows.map((row) => row.text);
}
