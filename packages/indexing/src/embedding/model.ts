import {
  ProviderError,
  type EmbeddingProvider,
  type MemorySearchSettings,
  type SyncProgress,
  withDeadline,
} from "@memslot/core";
import { createCooldown, embeddingErrorOf, traceCall } from "@memslot/core/host";
import { spaceName, type VectorSpace } from "../chunk-store.ts";
import type { SpaceStats } from "../index-row-types.ts";
import type { NoteIndex } from "../note-index.ts";
import { Circuit } from "./requests/circuit-breaker.ts";
import { type EmbedOptions, EmbeddingRequests, plainText } from "./requests/requests.ts";
import type { SharedState } from "./requests/shared-state.ts";
import type { Usage } from "./requests/usage.ts";

export interface EmbeddingContext {
  store: NoteIndex;
  settings: MemorySearchSettings;
  agentId: string;
  shared: SharedState;
  usage: Usage;
  notify: (line: string) => void;
  closing: AbortSignal;
}

/** After a failed preparation, searches do not retry it for so long. */
const cooldownMs = 60_000;

/** A model of a provider, with the space of its vectors. */
export class EmbeddingModel {
  readonly provider: EmbeddingProvider;
  readonly requests: EmbeddingRequests;
  readonly fingerprint: string;
  /** The provider failed when vectors were last missing. */
  isDown = false;
  /** The current step of the preparation: a download, or loading the model. */
  activity: string | undefined;
  stats: SpaceStats | undefined;
  readonly #context: EmbeddingContext;
  readonly #hasFixedSpace: boolean;
  readonly #cooldown = createCooldown<ProviderError>();
  readonly #watchers = new Set<(update: SyncProgress) => void>();
  #isPrepared: boolean;
  #preparing: Promise<void> | undefined;
  #space: VectorSpace | undefined;
  #isWarmed = false;

  /** `fixedSpace`: the space of stored vectors that this model still makes. */
  constructor(provider: EmbeddingProvider, context: EmbeddingContext, fixedSpace?: VectorSpace) {
    const seconds = context.settings.sync.embeddingBatchTimeoutSeconds;
    this.fingerprint = provider.endpoint?.fingerprint ?? `${provider.id} ${provider.model}`;
    this.provider = provider;
    const circuit = new Circuit(context.shared, this.fingerprint);
    this.requests = new EmbeddingRequests(provider, circuit, context.usage, seconds && seconds * 1000);
    this.#context = context;
    this.#isPrepared = provider.prepare === undefined;
    this.#hasFixedSpace = fixedSpace !== undefined;
    this.#space = fixedSpace;
  }

  /** The length of its vectors is known without a request. */
  get isFixed(): boolean {
    return this.#hasFixedSpace || this.provider.dimensions !== undefined;
  }

  /** The space, if its dimensions are stated or the index has vectors of it. */
  async knownSpace(): Promise<VectorSpace | undefined> {
    const { provider } = this;
    if (this.#space) return this.#space;
    if (provider.dimensions !== undefined) return (this.#space = this.#spaceOf(provider.dimensions));
    const name = spaceName(this.#spaceOf(0));
    const known = (await this.#context.store.spaces()).find(
      ({ space }) => spaceName({ ...space, dimensions: 0 }) === name,
    );
    // The provider may have learnt its dimensions meanwhile.
    if (known) this.#space = this.#spaceOf(provider.dimensions ?? known.space.dimensions);
    return this.#space;
  }

  /** The space as the provider states it, or one small request shows it. */
  async measureSpace(options: EmbedOptions & { progress: (update: SyncProgress) => void }): Promise<VectorSpace> {
    await this.prepare({ ...options, retry: true });
    // A model knows its dimensions once it is loaded.
    const length = this.provider.dimensions ?? (await this.requests.embed([plainText], options))[0]?.length ?? 0;
    return (this.#space = this.#spaceOf(length));
  }

  /** Vectors of this length were made: unless the space is fixed, it changes. */
  observed(length: number): void {
    if (this.isFixed || this.#space?.dimensions === length) return;
    this.#space = this.#spaceOf(length);
    this.stats = undefined;
  }

  /** Undefined if the space is not known. */
  async count(): Promise<SpaceStats | undefined> {
    const known = await this.knownSpace();
    return (this.stats = known && (await this.#context.store.spaceStats(known)));
  }

  /** Downloads and loads the model once for all callers. Failures are rethrown for a minute without `retry`. */
  async prepare(options: {
    signal: AbortSignal;
    retry: boolean;
    progress?: ((update: SyncProgress) => void) | undefined;
  }): Promise<void> {
    const { signal, retry, progress } = options;
    if (this.#isPrepared) return;
    const cooldown = this.#cooldown.current();
    if (!retry && cooldown) throw cooldown.failure;
    if (progress) this.#watchers.add(progress);
    try {
      const shared = (this.#preparing ??= this.#prepare());
      // A caller that stops waiting leaves the work to the others.
      await withDeadline({ what: `preparing ${this.provider.id}`, signals: [signal] }, () => shared);
    } finally {
      if (progress) this.#watchers.delete(progress);
    }
  }

  warm(): void {
    if (!this.#isWarmed) Promise.resolve(this.provider.warm?.()).catch(() => undefined);
    this.#isWarmed = true;
  }

  /** Why the provider gets no requests until its key or account changes. */
  refusal(): ProviderError | undefined {
    const state = this.requests.circuit.state();
    if (!state || state.kind === "rate" || Date.parse(state.nextProbeAt) <= Date.now()) return undefined;
    return new ProviderError(state.kind, `${this.provider.id}: ${state.reason}`);
  }

  async close(): Promise<void> {
    await this.requests.close();
    await this.#preparing?.catch(() => undefined);
  }

  async #prepare(): Promise<void> {
    const { provider } = this;
    const { closing } = this.#context;
    const progress = (update: SyncProgress): void => {
      const { completed, total, label = "preparing" } = update;
      this.activity = total > 0 ? `${label}, ${Math.floor((100 * completed) / total)} %` : label;
      for (const watch of this.#watchers) watch(update);
    };
    this.activity = "loading the model";
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
      this.#cooldown.start(failure, cooldownMs);
      throw failure;
    } finally {
      this.activity = undefined;
      this.#preparing = undefined;
    }
  }

  #spaceOf(dimensions: number): VectorSpace {
    const { id, model, cacheKey = "" } = this.provider;
    return { provider: id, model, providerKey: cacheKey, dimensions };
  }
}

/** Account or key are refused: the fallback is for such failures. */
export function isRefusal(error: unknown): error is ProviderError {
  return ProviderError.is(error, "quota") || ProviderError.is(error, "auth");
}
