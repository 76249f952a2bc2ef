import { type EmbeddingProvider, MemoryError, messageOf, type SyncProgress, withDeadline } from "@memslot/core";
import type { ChunkStore, VectorSpace } from "./chunk-store.ts";
import { estimateTokens } from "./token-weight.ts";

const defaultBatchItems = 64;
const defaultBatchTokens = 8000;
const attempts = 3;
const firstPauseMs = 300;
const batchDeadlineMs = 120_000;
/** Less than a search may take in all, so that the keyword answer is still given. */
const queryDeadlineMs = 15_000;

/** The vector half of an index: what is embedded with which provider. */
export interface VectorSync {
  /** Makes the vectors that are missing. Gives what is left, and why, when the provider fails. */
  embedMissing(options: {
    signal: AbortSignal;
    progress: (update: SyncProgress) => void;
  }): Promise<{ chunks: number; reason: string } | undefined>;
  /** The vector of a query, of unit length, in the space of the stored ones. */
  embedQuery(query: string, signal: AbortSignal): Promise<Float32Array>;
  space(): VectorSpace | undefined;
}

/** Makes vectors with a provider and keeps them in a store. */
export function createVectorSync(store: ChunkStore, provider: EmbeddingProvider): VectorSync {
  const what = `the embedding provider ${provider.id}`;
  let space: VectorSpace | undefined;

  function changedModel(dimensions: number, before: number): MemoryError {
    return new MemoryError(
      "UNAVAILABLE",
      `the embedding provider ${provider.id} gave vectors of ${dimensions} numbers where ${before} were expected: it has changed its model under the same name`,
    );
  }

  async function useSpace(dimensions: number): Promise<VectorSpace> {
    if (space && space.dimensions === dimensions) return space;
    if (space) throw changedModel(dimensions, space.dimensions);
    const next: VectorSpace = {
      provider: provider.id,
      model: provider.model,
      providerKey: provider.cacheKey ?? "",
      dimensions,
    };
    await store.useSpace(next);
    return (space = next);
  }

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const vectors = await withDeadline({ what, deadlineMs: batchDeadlineMs, signals: [signal] }, (inner) =>
          provider.embedBatch(texts, { signal: inner }),
        );
        if (vectors.length !== texts.length)
          throw new Error(`${vectors.length} vectors came back for ${texts.length} texts`);
        return vectors.map((vector) => unitVector(vector, provider.id));
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === attempts) throw new ProviderFailure(error);
        await pause(firstPauseMs * 2 ** (attempt - 1), signal);
      }
    }
  }

  async function embedInSpace(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const vectors = await embed(texts, signal);
    const other = vectors.find((vector) => vector.length !== space?.dimensions);
    if (other && space) throw new ProviderFailure(changedModel(other.length, space.dimensions));
    return vectors;
  }

  async function missingVectors(): Promise<number> {
    const { chunks, embedded } = await store.stats();
    return chunks - embedded;
  }

  return {
    space: () => space,
    async embedQuery(query, signal) {
      const vector = unitVector(
        await withDeadline({ what, deadlineMs: queryDeadlineMs, signals: [signal] }, (inner) =>
          provider.embedQuery(query, { signal: inner }),
        ),
        provider.id,
      );
      await useSpace(vector.length);
      return vector;
    },
    async embedMissing({ signal, progress }) {
      let done = 0;
      let total = 0;
      try {
        if (!space) {
          // Without a stated length the first vector tells it.
          const dimensions = provider.dimensions ?? (await embed(["memory"], signal))[0]?.length ?? 0;
          await useSpace(dimensions);
        }
        for (;;) {
          signal.throwIfAborted();
          const pending = await store.pendingVectors(512);
          // Chunks with the same text share a vector, so that the last ones are done at once.
          if (done < total && pending.length === 0) progress({ completed: total, total, label: "embedding" });
          if (pending.length === 0) return undefined;
          if (total === 0) total = await missingVectors();
          for (const batch of batchesOf(pending, provider)) {
            const vectors = await embedInSpace(batch.map(embeddingText), signal);
            await store.putVectors(
              batch.map((entry, index) => ({
                hash: entry.hash,
                vector: vectors[index] as Float32Array,
              })),
            );
            done += batch.length;
            progress({ completed: done, total: Math.max(done, total), label: "embedding" });
          }
        }
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error;
        return { chunks: await missingVectors(), reason: `${provider.id}: ${error.message}` };
      }
    },
  };
}

/** Tells a provider that failed, without which keywords go on, from a store that failed, which ends the sync. */
class ProviderFailure extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

interface PendingChunk {
  hash: string;
  context: string;
  text: string;
}

/** What is embedded for a chunk: its headings, then its text. */
function embeddingText(chunk: { context: string; text: string }): string {
  return chunk.context === "" ? chunk.text : `${chunk.context}\n\n${chunk.text}`;
}

function* batchesOf(pending: readonly PendingChunk[], provider: EmbeddingProvider): Generator<PendingChunk[]> {
  const maxItems = provider.maxBatchItems ?? defaultBatchItems;
  const maxTokens = provider.maxBatchTokens ?? defaultBatchTokens;
  let batch: PendingChunk[] = [];
  let tokens = 0;
  for (const chunk of pending) {
    const weight = estimateTokens(embeddingText(chunk));
    if (batch.length > 0 && (batch.length >= maxItems || tokens + weight > maxTokens)) {
      yield batch;
      [batch, tokens] = [[], 0];
    }
    batch.push(chunk);
    tokens += weight;
  }
  if (batch.length > 0) yield batch;
}

function unitVector(vector: ArrayLike<number>, providerId: string): Float32Array {
  const unit = Float32Array.from(vector);
  let sum = 0;
  for (const value of unit) sum += value * value;
  if (unit.length === 0 || !Number.isFinite(sum) || sum === 0) {
    throw new MemoryError(
      "UNAVAILABLE",
      `the embedding provider ${providerId} gave a vector that is empty, all zero or not finite`,
    );
  }
  const length = Math.sqrt(sum);
  return unit.map((value) => value / length);
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(finish, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    function finish(): void {
      signal.removeEventListener("abort", stop);
      resolve();
    }
    signal.addEventListener("abort", stop, { once: true });
  });
}
