import type { EmbeddingProvider } from "memslot";

/** A provider whose vectors are what a test says, with the texts that it was asked for. */
export interface PlacedEmbeddings extends EmbeddingProvider {
  readonly texts: string[];
}

/**
 * Vectors of `dimensions` numbers that `place` fills: `near` is how near a text is to all that is asked, 0 to 1. Texts
 * that are equally near lie in different directions around it.
 */
export function placedEmbeddings(
  near: (text: string) => number,
  { model = "placed", dimensions = 8 }: { model?: string; dimensions?: number } = {},
): PlacedEmbeddings {
  const texts: string[] = [];
  const vectorOf = (cosine: number, turn: number): Float32Array => {
    const vector = new Float32Array(dimensions);
    vector[0] = cosine;
    vector[1 + (turn % (dimensions - 1))] = Math.sqrt(1 - cosine * cosine);
    return vector;
  };
  return {
    id: "placed",
    model,
    dimensions,
    maxBatchItems: 64,
    texts,
    embedQuery: () => Promise.resolve(vectorOf(1, 0)),
    embedBatch(batch) {
      texts.push(...batch);
      return Promise.resolve(batch.map((text, index) => vectorOf(near(text), index + text.length)));
    },
  };
}
