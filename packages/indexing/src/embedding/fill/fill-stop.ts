import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import type { VectorSpace } from "../../chunk-store.ts";

/** Why the making of vectors ended before all were there. */
export interface FillStop {
  /** For people, with what they can do about it. */
  reason: string;
  /** Set where the provider is the cause. */
  error?: EmbeddingError | undefined;
  /** Set where its vectors have another length than those of the space. */
  length?: number | undefined;
}

export function stopOf(error: EmbeddingError): FillStop {
  return { reason: error.message, error };
}

/** The reason to store none of these vectors, where one has another length than the space; undefined where all fit. */
export function otherLength(
  vectors: readonly ArrayLike<number>[],
  space: VectorSpace,
  provider: EmbeddingProvider,
): FillStop | undefined {
  const other = vectors.find((vector) => vector.length !== space.dimensions);
  if (!other) return undefined;
  const error = new EmbeddingError(
    "auth",
    `the provider ${provider.id} gave vectors of ${other.length} numbers where ${space.dimensions} were expected: it serves another model under the same name; name the model in memorySearch.model, or run \`memslot memory index --force\` to embed everything with it`,
  );
  return { ...stopOf(error), length: other.length };
}
