import { EmbeddingError, type EmbeddingProvider, type SyncProgress } from "@memslot/core";
import type { ChunkIndex, SpaceStats } from "../chunk-index.ts";
import type { VectorSpace } from "../chunk-store.ts";
import { Preparation } from "./preparation.ts";
import { openCircuit } from "./requests/circuit.ts";
import { createEmbeddingRequests, type EmbedOptions, type EmbeddingRequests } from "./requests/requests.ts";
import type { Usage } from "./requests/usage.ts";

/** What every lane of a memory shares. */
export interface LaneContext {
  store: ChunkIndex;
  stateDir: string;
  usage: Usage;
  /** What one request for vectors of notes may take; undefined where it is not set. */
  requestMs?: number | undefined;
  /** Aborted when the memory is closed. */
  closing: AbortSignal;
}

/** A provider with the space that its vectors are in. A query is compared with the vectors of its own lane only. */
export interface Lane {
  readonly provider: EmbeddingProvider;
  readonly requests: EmbeddingRequests;
  /** Names address, key and model. */
  readonly fingerprint: string;
  /** The provider gave no vectors the last time that some were missing. */
  isDown: boolean;
  /** Its space is known from elsewhere, whatever the provider shows. */
  readonly isFixed: boolean;
  /** The space, as far as it is known without a request: dimensions are stated, or vectors are there already. */
  knownSpace(): Promise<VectorSpace | undefined>;
  /** The space as the provider or one small request shows it, whatever the stored vectors are like. */
  measureSpace(how: EmbedOptions & { progress: (update: SyncProgress) => void }): Promise<VectorSpace>;
  /** The provider has made a vector of this length: where it states none, its space is the one of this length from now on. */
  shown(length: number): void;
  /** As last counted; undefined before the first count. */
  stats(): SpaceStats | undefined;
  /** Counts anew. Undefined where the space is not known. */
  count(): Promise<SpaceStats | undefined>;
  /** Has the provider fetch and load what it needs. */
  prepare(how: Parameters<Preparation["wait"]>[0]): Promise<void>;
  /** Has the provider load its libraries, once, with nobody waiting. */
  warm(): void;
  /** What is being fetched or loaded now. */
  activity(): string | undefined;
  close(): Promise<void>;
}

/** `fixedSpace`: the one that the vectors of this provider are known to be in. */
export function createLane(
  provider: EmbeddingProvider,
  { store, stateDir, usage, requestMs, closing }: LaneContext,
  fixedSpace?: VectorSpace,
): Lane {
  const fingerprint = provider.endpoint?.fingerprint ?? `${provider.id} ${provider.model}`;
  const requests = createEmbeddingRequests({
    provider,
    circuit: openCircuit({ stateDir, fingerprint }),
    usage,
    requestMs,
  });
  let space = fixedSpace;
  let stats: SpaceStats | undefined;
  const preparation = new Preparation(provider, closing);
  let warmed = false;

  const spaceOf = (dimensions: number): VectorSpace => ({
    provider: provider.id,
    model: provider.model,
    providerKey: provider.cacheKey ?? "",
    dimensions,
  });

  async function knownSpace(): Promise<VectorSpace | undefined> {
    if (space) return space;
    if (provider.dimensions !== undefined) return (space = spaceOf(provider.dimensions));
    const { providerKey } = spaceOf(0);
    const known = (await store.spaces()).find(
      (other) =>
        other.space.provider === provider.id &&
        other.space.model === provider.model &&
        other.space.providerKey === providerKey,
    );
    // Preparing may have told the dimensions meanwhile.
    if (known) space = spaceOf(provider.dimensions ?? known.space.dimensions);
    return space;
  }

  return {
    provider,
    requests,
    fingerprint,
    isDown: false,
    get isFixed() {
      return fixedSpace !== undefined || provider.dimensions !== undefined;
    },
    knownSpace,
    async measureSpace(how) {
      await preparation.wait({ ...how, retry: true });
      // A model that had to be fetched first tells its dimensions now.
      if (provider.dimensions !== undefined) return (space = spaceOf(provider.dimensions));
      const [vector] = await requests.embed(["memory"], how);
      return (space = spaceOf(vector?.length ?? 0));
    },
    shown(length) {
      if (this.isFixed || space?.dimensions === length) return;
      space = spaceOf(length);
      stats = undefined;
    },
    stats: () => stats,
    async count() {
      const known = await knownSpace();
      return (stats = known && (await store.spaceStats(known)));
    },
    prepare: (how) => preparation.wait(how),
    warm() {
      if (warmed) return;
      warmed = true;
      Promise.resolve(provider.warm?.()).catch(() => undefined);
    },
    activity: () => preparation.activity,
    async close() {
      await requests.close();
      await preparation.settled();
    },
  };
}

/** The failure that keeps a lane from being asked until somebody changes something; undefined where there is none. */
export function refusalOf({ requests, provider }: Lane): EmbeddingError | undefined {
  const state = requests.circuit.state();
  if (!state || state.kind === "rate" || Date.parse(state.nextProbeAt) <= Date.now()) return undefined;
  return new EmbeddingError(state.kind, `${provider.id}: ${state.reason}`);
}

/** True for a failure that a spare is there for. */
export function isForGood(error: unknown): error is EmbeddingError {
  return EmbeddingError.is(error, "quota") || EmbeddingError.is(error, "auth");
}
