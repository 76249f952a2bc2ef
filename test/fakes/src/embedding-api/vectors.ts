import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";
import type { EmbeddingApiOptions } from "./options.ts";

/** What the routes of both APIs make vectors with. */
export interface VectorSource {
  /** One vector for each text; `dimensions` is the width that the request asks for, if it does. Counts texts and tokens. */
  embed(
    model: string,
    texts: readonly string[],
    dimensions: number | undefined,
  ): Promise<{ vectors: Float32Array[]; tokens: number }>;
  counts: { texts: number; tokens: number };
}

export function createVectorSource(options: EmbeddingApiOptions): VectorSource {
  const models = new Map<string, DeterministicEmbeddings>();
  const counts = { texts: 0, tokens: 0 };

  async function vectorOf(model: string, text: string, dimensions: number): Promise<Float32Array> {
    if (options.embed !== undefined) return options.embed(text, { model, dimensions });
    const name = `${model} ${dimensions}`;
    const embeddings = models.get(name) ?? deterministicEmbeddings({ model, dimensions });
    models.set(name, embeddings);
    return Float32Array.from(await embeddings.embedQuery(text));
  }

  return {
    counts,
    async embed(model, texts, dimensions = options.dimensions ?? 768) {
      const vectors: Float32Array[] = [];
      for (const text of texts) vectors.push(await vectorOf(model, text, dimensions));
      const tokens = tokensOf(texts);
      counts.texts += texts.length;
      counts.tokens += tokens;
      return { vectors, tokens };
    },
  };
}

/** A token is four characters, here; what is left over counts as one. */
export function tokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 4);
}
