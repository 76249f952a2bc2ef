import type { SyncProgress } from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import { type BatchRunOptions, runBatch } from "../jobs/batch-jobs.ts";
import { fillByRequests, type RequestFill } from "./fill-by-requests.ts";
import { createFillProgress } from "./fill-progress.ts";
import type { FillStop } from "./fill-stop.ts";

export interface FillOptions extends Omit<RequestFill, "progress" | "accept" | "store"> {
  store: RequestFill["store"] & Pick<ChunkIndex, "spaceStats">;
  /** Undefined: direct calls only. */
  batch: BatchRunOptions | undefined;
  progress: (update: SyncProgress) => void;
}

/** What is left. */
export interface FillOutcome extends FillStop {
  /** Chunks without a vector that are not quarantined, also of a build that is being made. */
  chunks: number;
}

/**
 * Makes the vectors that a space misses, and keeps each as it comes: a fill that was interrupted goes on where it was.
 * Texts that the provider refuses are quarantined. Gives what is left and why when the provider fails or the budget is
 * spent; undefined when nothing is left. Throws the reason of an abort, and what the store throws.
 */
export async function fillSpace(options: FillOptions): Promise<FillOutcome | undefined> {
  const { store, space, batch, signal } = options;
  signal.throwIfAborted();
  const progress = await createFillProgress(store, space, options.progress);
  const stop = batch ? await fillByJobs(batch) : await fillByRequests({ ...options, progress });
  signal.throwIfAborted();
  if (!stop) {
    progress.finish();
    return undefined;
  }
  const { pending, nextPending = 0 } = await store.spaceStats(space);
  const chunks = pending + nextPending;
  return chunks === 0 ? undefined : { ...stop, chunks };

  async function fillByJobs(jobs: BatchRunOptions): Promise<FillStop | undefined> {
    const { stop, waiting, direct } = await runBatch(jobs, { ...options, progress });
    if (stop) return stop;
    const rest = direct && (await fillByRequests({ ...options, progress, accept: direct }));
    return rest ?? waiting;
  }
}
