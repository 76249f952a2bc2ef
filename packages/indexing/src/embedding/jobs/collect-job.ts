import { EmbeddingError } from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type FillStop, otherLength } from "../fill/fill-stop.ts";
import type { Requests } from "../requests/requests.ts";

/** What came of a text: a vector, why there is none, or nothing at all. */
export type JobResult = ArrayLike<number> | EmbeddingError | undefined;

export interface CollectedJob {
  /** Texts that have their vector now. */
  stored: number;
  /** Texts that were refused, while others of the same job were not. */
  quarantined: number;
  /** The hashes of all others. */
  missing: string[];
  /** What the first text without a vector says. */
  reason: string | undefined;
  /** Set where the vectors are of another model; then none was stored. */
  stop: FillStop | undefined;
}

const writtenAtOnce = 256;

/**
 * Stores what came of the texts of a job, whole: they were paid for, and the other side may not have them any more.
 * `results` are in the order of `hashes`.
 */
export async function collectJob(input: {
  hashes: readonly string[];
  results: readonly JobResult[];
  store: Pick<ChunkIndex, "putVectors" | "quarantine">;
  space: VectorSpace;
  requests: Requests;
}): Promise<CollectedJob> {
  const { hashes, results, store, space, requests } = input;
  const refused: { hash: string; reason: string }[] = [];
  const missing: string[] = [];
  let stored = 0;
  let reason: string | undefined;

  const given = results.filter((result) => result !== undefined && !EmbeddingError.is(result)) as ArrayLike<number>[];
  const stop = otherLength(given, space, requests.provider);
  if (stop) return { stored: 0, quarantined: 0, missing: [...hashes], reason: stop.reason, stop };

  function vectorOf(hash: string, result: JobResult): Float32Array | undefined {
    try {
      if (EmbeddingError.is(result)) throw result;
      if (result !== undefined) return requests.unit(result);
      missing.push(hash);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      reason ??= error.message;
      if (error.kind === "input") refused.push({ hash, reason: error.message });
      else missing.push(hash);
    }
    return undefined;
  }

  for (let start = 0; start < hashes.length; start += writtenAtOnce) {
    const entries = hashes.slice(start, start + writtenAtOnce).flatMap((hash, index) => {
      const vector = vectorOf(hash, results[start + index]);
      return vector ? [{ hash, vector }] : [];
    });
    if (entries.length > 0) await store.putVectors(space, entries);
    stored += entries.length;
  }
  // Where no text was taken at all, the texts may not be to blame: direct calls find out.
  if (stored === 0) missing.push(...refused.splice(0).map(({ hash }) => hash));
  if (refused.length > 0) await store.quarantine(space, refused);
  return { stored, quarantined: refused.length, missing, reason, stop: undefined };
}
