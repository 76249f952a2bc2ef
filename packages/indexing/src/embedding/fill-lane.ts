import { EmbeddingError, type MemorySearchSettings, type SyncProgress } from "@memslot/core";
import type { ChunkStore, VectorSpace } from "../chunk-store.ts";
import { createBatchRun } from "./batch-jobs.ts";
import { type FillOutcome, fillSpace } from "./fill.ts";
import type { Lane } from "./lane.ts";

/** With fewer texts than this a batch job would cost more waiting than it saves. */
const textsForBatch = 100;

export interface FillRequest {
  /** Who wants it, for the count of usage: `cli`, `search`, `watch`. */
  reason: string;
  /** A person asked for it, so that a provider that refused is tried once more. */
  asked: boolean;
  /** Quarantined texts are tried again, and another length of vectors is accepted. */
  force: boolean;
  signal: AbortSignal;
  progress: (update: SyncProgress) => void;
}

/** Makes the vectors that the space of a lane misses. Asks the provider for nothing where none is missing. */
export async function fillLane(
  lane: Lane,
  request: FillRequest,
  context: {
    store: ChunkStore;
    remote: MemorySearchSettings["remote"];
    stateDir: string;
    agentId: string;
    tokensLeft: (() => number) | undefined;
    notify: (line: string) => void;
  },
): Promise<FillOutcome | undefined> {
  const { store, remote, tokensLeft } = context;
  const { provider, requests } = lane;
  const batches = remote.batch.enabled ? provider.batches : undefined;
  const { signal, progress, reason, asked } = request;
  try {
    const space = await spaceToFill(lane, request, store);
    if (!space) return undefined;
    await lane.prepare({ signal, progress, retry: true });
    return await fillSpace({
      store,
      space,
      requests,
      concurrency: provider.maxConcurrency ?? remote.nonBatchConcurrency,
      tokensLeft,
      batch:
        batches && createBatchRun({ batches, ...context, settings: remote.batch, requests, minTexts: textsForBatch }),
      reason,
      asked,
      signal,
      progress,
    });
  } catch (error) {
    if (!EmbeddingError.is(error)) throw error;
    const chunks = (await lane.count())?.pending ?? (await store.stats()).chunks;
    return { chunks, reason: error.message, error };
  } finally {
    await lane.count().catch(() => undefined);
  }
}

/** The space, if anything is missing in it. */
async function spaceToFill(
  lane: Lane,
  { force, ...request }: FillRequest,
  store: ChunkStore,
): Promise<VectorSpace | undefined> {
  const { chunks, generation } = await store.stats();
  if (chunks + (generation?.next?.chunks ?? 0) === 0) return undefined;
  const isStated = lane.provider.dimensions !== undefined;
  const known = force && !isStated ? undefined : await lane.knownSpace();
  const space = known ?? (await lane.measureSpace(request));
  if (force) await store.releaseQuarantine(space);
  const { pending, nextPending = 0 } = await store.spaceStats(space);
  return pending + nextPending > 0 ? space : undefined;
}
