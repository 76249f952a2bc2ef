import {
  EmbeddingError,
  type EmbeddingProvider,
  type SyncProgress,
  createRest,
  embeddingErrorOf,
  traceCall,
  withDeadline,
} from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { SpaceStats } from "../index-records.ts";
import { spaceName, type VectorSpace } from "../chunk-store.ts";
import { Circuit } from "./requests/circuit.ts";
import { type EmbedOptions, EmbeddingRequests, plainText } from "./requests/requests.ts";
import type { Usage } from "./requests/usage.ts";

/** What every lane of a memory shares. */
export interface LaneContext {
  store: NoteIndex;
  stateDir: string;
  usage: Usage;
  /** What one request for vectors of notes may take; undefined where it is not set. */
  requestMs?: number | undefined;
  /** Aborted when the memory is closed. */
  closing: AbortSignal;
}

/** How long a model that could not be fetched or loaded is left alone by searches. */
const restMs = 60_000;

/** A provider with the space that its vectors are in. A query is compared with the vectors of its own lane only. */
export class Lane {
  readonly provider: EmbeddingProvider;
  readonly requests: EmbeddingRequests;
  /** Names address, key and model. */
  readonly fingerprint: string;
  /** The provider gave no vectors the last time that some were missing. */
  isDown = false;
  readonly #context: LaneContext;
  readonly #hasFixedSpace: boolean;
  /** A failed preparation is not tried again by searches for a while. */
  readonly #rest = createRest<EmbeddingError>();
  /** Callers that wait for the preparation and want to see its progress. */
  readonly #watchers = new Set<(update: SyncProgress) => void>();
  #isPrepared: boolean;
  #preparing: Promise<void> | undefined;
  #activity: string | undefined;
  #space: VectorSpace | undefined;
  #stats: SpaceStats | undefined;
  #isWarmed = false;

  /** `fixedSpace`: the one that the vectors of this provider are known to be in. */
  constructor(provider: EmbeddingProvider, context: LaneContext, fixedSpace?: VectorSpace) {
    const { stateDir, usage, requestMs } = context;
    this.fingerprint = provider.endpoint?.fingerprint ?? `${provider.id} ${provider.model}`;
    const circuit = new Circuit({ stateDir, fingerprint: this.fingerprint });
    this.provider = provider;
    this.requests = new EmbeddingRequests({ provider, circuit, usage, requestMs });
    this.#context = context;
    this.#isPrepared = provider.prepare === undefined;
    this.#hasFixedSpace = fixedSpace !== undefined;
    this.#space = fixedSpace;
  }

  /** Its space is known from elsewhere, whatever the provider shows. */
  get isFixed(): boolean {
    return this.#hasFixedSpace || this.provider.dimensions !== undefined;
  }

  /** The space, as far as it is known without a request: dimensions are stated, or vectors are there already. */
  async knownSpace(): Promise<VectorSpace | undefined> {
    const { provider } = this;
    if (this.#space) return this.#space;
    if (provider.dimensions !== undefined) return (this.#space = this.#spaceOf(provider.dimensions));
    const name = spaceName(this.#spaceOf(0));
    const known = (await this.#context.store.spaces()).find(
      ({ space }) => spaceName({ ...space, dimensions: 0 }) === name,
    );
    // Preparing may have told the dimensions meanwhile.
    if (known) this.#space = this.#spaceOf(provider.dimensions ?? known.space.dimensions);
    return this.#space;
  }

  /** The space as the provider or one small request shows it, whatever the stored vectors are like. */
  async measureSpace(how: EmbedOptions & { progress: (update: SyncProgress) => void }): Promise<VectorSpace> {
    await this.prepare({ ...how, retry: true });
    // A model that had to be fetched first tells its dimensions now.
    const length = this.provider.dimensions ?? (await this.requests.embed([plainText], how))[0]?.length ?? 0;
    return (this.#space = this.#spaceOf(length));
  }

  /** The provider has made a vector of this length: where it states none, its space is the one of this length from now on. */
  shown(length: number): void {
    if (this.isFixed || this.#space?.dimensions === length) return;
    this.#space = this.#spaceOf(length);
    this.#stats = undefined;
  }

  /** As last counted; undefined before the first count. */
  stats(): SpaceStats | undefined {
    return this.#stats;
  }

  /** Counts again. Undefined where the space is not known. */
  async count(): Promise<SpaceStats | undefined> {
    const known = await this.knownSpace();
    return (this.#stats = known && (await this.#context.store.spaceStats(known)));
  }

  /**
   * Has the provider fetch and load what it needs, once at a time, for all who wait for it. For a minute after a failure, a
   * call without `retry` throws the same failure.
   */
  async prepare(how: {
    signal: AbortSignal;
    retry: boolean;
    progress?: ((update: SyncProgress) => void) | undefined;
  }): Promise<void> {
    const { signal, retry, progress } = how;
    if (this.#isPrepared) return;
    const resting = this.#rest.current();
    if (!retry && resting) throw resting.failure;
    if (progress) this.#watchers.add(progress);
    try {
      const shared = (this.#preparing ??= this.#prepare());
      // One who stops waiting leaves the work to the others.
      await withDeadline({ what: `preparing ${this.provider.id}`, signals: [signal] }, () => shared);
    } finally {
      if (progress) this.#watchers.delete(progress);
    }
  }

  /** Has the provider load its libraries, once, in the background. */
  warm(): void {
    if (!this.#isWarmed) Promise.resolve(this.provider.warm?.()).catch(() => undefined);
    this.#isWarmed = true;
  }

  /** The present step: a download, or loading the model. */
  activity(): string | undefined {
    return this.#activity;
  }

  /** Waits until the preparation that runs has ended or failed, too. */
  async close(): Promise<void> {
    await this.requests.close();
    await this.#preparing?.catch(() => undefined);
  }

  async #prepare(): Promise<void> {
    const { provider } = this;
    const { closing } = this.#context;
    const progress = (update: SyncProgress): void => {
      this.#activity = describe(update);
      for (const watch of this.#watchers) watch(update);
    };
    this.#activity = "loading the model";
    try {
      await traceCall(
        "provider",
        () => ({ operation: "prepare", provider: provider.id, model: provider.model }),
        async () => await provider.prepare?.({ signal: closing, progress }),
      );
      this.#isPrepared = true;
    } catch (error) {
      closing.throwIfAborted();
      const failure = embeddingErrorOf(error, provider.id);
      this.#rest.start(failure, restMs);
      throw failure;
    } finally {
      this.#activity = undefined;
      this.#preparing = undefined;
    }
  }

  #spaceOf(dimensions: number): VectorSpace {
    const { id, model, cacheKey = "" } = this.provider;
    return { provider: id, model, providerKey: cacheKey, dimensions };
  }
}

/** The failure that keeps a lane from being asked until its key, account or configuration changes; undefined if there is none. */
export function refusalOf({ requests, provider }: Lane): EmbeddingError | undefined {
  const state = requests.circuit.state();
  if (!state || state.kind === "rate" || Date.parse(state.nextProbeAt) <= Date.now()) return undefined;
  return new EmbeddingError(state.kind, `${provider.id}: ${state.reason}`);
}

/** True for a failure that a spare is there for. */
export function isForGood(error: unknown): error is EmbeddingError {
  return EmbeddingError.is(error, "quota") || EmbeddingError.is(error, "auth");
}

/** `downloading model.gguf, 34 %` */
function describe({ completed, total, label }: SyncProgress): string {
  const share = total > 0 ? `, ${Math.floor((100 * completed) / total)} %` : "";
  return `${label ?? "preparing"}${share}`;
}
