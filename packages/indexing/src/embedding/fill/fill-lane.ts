import {
  EmbeddingError,
  embeddingErrorOf,
  type MemorySearchSettings,
  type SyncProgress,
  withDeadline,
} from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";
import { type Budget, OverBudget } from "../requests/usage.ts";
import { type FillOptions, type FillOutcome, fillSpace } from "./fill.ts";
import { chunkHash } from "../../text/chunk-markdown.ts";
import { embeddingLabel } from "./fill-progress.ts";
import type { Lane } from "../lane.ts";
import { plainText } from "../requests/requests.ts";

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

/** One that was down is asked with a single word whether it is back, before it gets much. */
const knockMs = 10_000;
/** A provider that is asked only whether its vectors have the length of the stored ones is not waited for longer. */
const looksMs = 8000;

/**
 * Makes the vectors that the space of a lane misses. If none is missing, no request is made, unless a person asks after
 * another address was configured. A provider that serves another model under the same name, with vectors of another length, gets a space of
 * its own, which is filled.
 */
export async function fillLane(
  lane: Lane,
  request: FillRequest,
  context: {
    store: ChunkIndex;
    remote: MemorySearchSettings["remote"];
    stateDir: string;
    agentId: string;
    budget: Budget | undefined;
    notify: (line: string) => void;
    /** Whether every chunk has the same vector: then each is made again if that is forced. */
    isSame: () => Promise<boolean>;
  },
): Promise<FillOutcome | undefined> {
  const { store, remote, budget } = context;
  const { provider, requests } = lane;
  const batches = remote.batch.enabled ? provider.batches : undefined;
  const { signal, progress, reason, asked } = request;
  const fill = async (space: VectorSpace): ReturnType<typeof fillSpace> =>
    await fillSpace({
      store: isAgain ? await withEveryText(store) : store,
      space,
      requests,
      concurrency: provider.maxConcurrency ?? remote.nonBatchConcurrency,
      budget,
      batch: batches && { batches, ...context, settings: remote.batch, requests, minTexts: textsForBatch },
      reason,
      asked,
      signal,
      progress,
    });
  const onRetry = (words?: string): void =>
    progress({ completed: 0, total: 0, label: embeddingLabel(provider.id, words) });
  const asking = { ...request, budget, onRetry };
  let isAgain = false;
  async function run(): Promise<FillOutcome | undefined> {
    const before = await lane.knownSpace();
    isAgain = request.force && (await context.isSame());
    let space = await spaceToFill(lane, asking, store);
    if (isAgain) space ??= before;
    if (!space) return undefined;
    if (lane.isDown && !asked) await knock(lane, asking);
    await lane.prepare({ signal, progress, retry: true });
    tellChange(before, space, context.notify);
    const outcome = await fill(space);
    if (outcome === undefined) await store.spaceFacts?.note(shownBy(space), lane.fingerprint);
    if (outcome?.length === undefined || provider.dimensions !== undefined) return outcome;
    // A single answer may be wrong.
    const shown = await lane.measureSpace(asking);
    if (shown.dimensions === space.dimensions) return outcome;
    tellChange(space, shown, context.notify);
    space = shown;
    return await fill(space);
  }
  try {
    const outcome = await run();
    lane.isDown = outcome?.error?.kind === "transient";
    return outcome;
  } catch (error) {
    if (!EmbeddingError.is(error) && !(error instanceof OverBudget)) throw error;
    lane.isDown = EmbeddingError.is(error, "transient");
    const chunks = (await lane.count())?.pending ?? (await store.stats()).chunks;
    return { chunks, reason: error.message, error: EmbeddingError.is(error) ? error : undefined };
  } finally {
    await lane.count().catch(() => undefined);
  }
}

type Asking = Omit<FillRequest, "force"> & { budget: Budget | undefined; onRetry: (words?: string) => void };

async function knock({ provider, requests }: Lane, asking: Asking): Promise<void> {
  const limits = { what: `the embedding provider ${provider.id}`, deadlineMs: knockMs, signals: [asking.signal] };
  try {
    await withDeadline(limits, (signal) => requests.embed([plainText], { ...asking, signal }));
  } catch (error) {
    asking.signal.throwIfAborted();
    if (error instanceof OverBudget) throw error;
    throw embeddingErrorOf(error, provider.id);
  }
}

function tellChange(
  before: VectorSpace | undefined,
  { provider, model, dimensions }: VectorSpace,
  notify: (line: string) => void,
): void {
  if (before === undefined || before.dimensions === dimensions) return;
  notify(
    `${provider} makes vectors of ${dimensions} numbers for ${model} where the stored ones have ${before.dimensions}: all chunks are embedded anew, and the earlier vectors are kept beside them`,
  );
}

/** The space, if anything is missing in it. */
async function spaceToFill(
  lane: Lane,
  { force, ...request }: FillRequest & Asking,
  store: ChunkIndex,
): Promise<VectorSpace | undefined> {
  const { chunks, generation } = await store.stats();
  if (chunks + (generation?.next?.chunks ?? 0) === 0) return undefined;
  const isStated = lane.provider.dimensions !== undefined;
  const known = force && !isStated ? undefined : await lane.knownSpace();
  if (!known) request.onRetry();
  const space = known ?? (await measure(lane, request));
  if (force) await store.releaseQuarantine(space);
  if (await isMissing(space, store)) return space;
  const facts = store.spaceFacts;
  if (!request.asked || isStated || !known || !facts || (await facts.noted(shownBy(space))) === lane.fingerprint)
    return undefined;
  // Another address may make other vectors under the same name, or not answer.
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(looksMs)]);
  const shown = await lane.measureSpace({ ...request, signal }).catch(() => request.signal.throwIfAborted());
  if (shown?.dimensions === space.dimensions) await facts.note(shownBy(space), lane.fingerprint);
  return shown && (await isMissing(shown, store)) ? shown : undefined;
}

/** A store that names every text of the index, also those that have a vector. */
async function withEveryText(store: ChunkIndex): Promise<FillOptions["store"]> {
  const sources = (await store.stats()).sources.map(({ source }) => source);
  const chunks = await store.listChunks({ sources, withText: true });
  return {
    pendingVectors: async () =>
      chunks.map(({ context, text }) => ({ hash: chunkHash({ context, text }), context, text })),
    putVectors: async (space, entries) => await store.putVectors(space, entries),
    quarantine: async (space, entries) => await store.quarantine(space, entries),
    spaceStats: async (space) => await store.spaceStats(space),
  };
}

/** Names the note that says which address, key and model made the vectors of a space last. */
function shownBy(space: VectorSpace): string {
  return `space:shown-by:${spaceName(space)}`;
}

/** One that was down is not waited for by those who did not ask for it. */
async function measure(lane: Lane, asking: Asking): Promise<VectorSpace> {
  await lane.prepare({ ...asking, retry: true });
  if (lane.isDown && !asking.asked && lane.provider.dimensions === undefined) await knock(lane, asking);
  return await lane.measureSpace(asking);
}

async function isMissing(space: VectorSpace, store: ChunkIndex): Promise<boolean> {
  const { pending, nextPending = 0 } = await store.spaceStats(space);
  return pending + nextPending > 0;
}
