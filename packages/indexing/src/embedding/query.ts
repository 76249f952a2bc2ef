import {
  type EmbeddingChoice,
  ProviderError,
  type EmbeddingProvider,
  type MemoryFallback,
  type Sentence,
} from "@memslot/core";
import { sentence, sentenceOf } from "@memslot/core/host";
import { type VectorSpace, spaceName } from "../chunk-store.ts";
import type { SpaceStats } from "../index-row-types.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { type EmbeddingContext, EmbeddingModel, isRefusal } from "./model.ts";
import { plainText } from "./requests/requests.ts";

/** How long a search waits for a model that is being loaded. */
const readyWaitMs = 8000;
/** With vectors for fewer chunks, vector search is worse than keyword search. */
const enoughVectors = 0.8;

export class NotFilled extends ProviderError {}

export interface EmbeddedQuery {
  space: VectorSpace;
  vector: Float32Array;
  /** Why these are not the vectors that the configuration asks for. */
  note?: Sentence | undefined;
  fallback?: MemoryFallback | undefined;
}

/** Chooses the model that embeds a query: the configured one, the fallback, or the model configured before. */
export class QueryModels {
  /** The model of the fallback, if it is open. */
  standby: EmbeddingModel | undefined;
  fallback: MemoryFallback | undefined;
  /** The provider that embedded the last query. */
  answeredBy: EmbeddingProvider | undefined;
  readonly #primary: EmbeddingModel;
  readonly #choice: EmbeddingChoice;
  readonly #context: EmbeddingContext;
  readonly #whyPending: () => Sentence | undefined;
  #earlier: Promise<EmbeddingModel | undefined> | undefined;
  #isEarlierProtected = false;
  #opening: Promise<EmbeddingModel> | undefined;
  /** The space that the store has laid out for search. */
  #usedSpace = "";

  constructor(
    primary: EmbeddingModel,
    choice: EmbeddingChoice,
    context: EmbeddingContext,
    whyPending: () => Sentence | undefined,
  ) {
    this.#primary = primary;
    this.#choice = choice;
    this.#context = context;
    this.#whyPending = whyPending;
  }

  /** Throws if keyword search has to answer alone: an `ProviderError` with the reason, or the error of an abort. */
  async embed(query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    // Secrets leave the process in no query either.
    const text = redactSecrets(query);
    try {
      const refusal = this.#choice.spare && this.#primary.refusal();
      if (refusal) throw refusal;
      await this.#assertFilled(this.#primary);
      const answer = await this.#embedWith(this.#primary, text, signal);
      this.fallback = undefined;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const isFilling = error instanceof NotFilled;
      if (!isFilling && !isRefusal(error)) throw error;
      const model = await (isFilling ? (this.#earlier ??= this.#openEarlier()) : this.openStandby(error));
      if (!model) throw error;
      const { id, model: name } = model.provider;
      await this.#assertFilled(model).catch((other: unknown) => {
        if (isFilling || !(other instanceof NotFilled)) throw other;
        throw new NotFilled("transient", fallbackToo(error, other));
      });
      const answer = await this.#embedWith(model, text, signal);
      const answering = isFilling ? name : `${id}/${name}`;
      const note = sentence("provider.answered", { error: sentenceOf(error), model: answering });
      return { ...answer, note, fallback: isFilling ? undefined : this.fallback };
    }
  }

  /** Opens the fallback when it is first needed, and again after a failure. */
  async openStandby(cause: ProviderError): Promise<EmbeddingModel | undefined> {
    const { spare } = this.#choice;
    if (!spare) return undefined;
    const { closing } = this.#context;
    try {
      this.#opening ??= spare.open(closing).then((other) => new EmbeddingModel(other, this.#context));
      this.standby = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      closing.throwIfAborted();
      throw new ProviderError("transient", fallbackToo(cause, error), { cause: error });
    }
    this.fallback = { from: this.#primary.provider.id, to: spare.id, ...sentenceOf(cause) };
    return this.standby;
  }

  /** Call before storing the first vectors of another model: the store might delete the earlier ones. */
  async protectEarlier(): Promise<void> {
    if (!this.#choice.openModel || this.#isEarlierProtected) return;
    const [space] = await this.#earlierSpaces();
    if (space) await this.#context.store.useSpace(space);
    this.#isEarlierProtected = true;
  }

  async close(): Promise<void> {
    const earlier = await this.#earlier?.catch(() => undefined);
    await Promise.allSettled([this.standby, earlier].map(async (model) => model?.close()));
  }

  async #assertFilled(model: EmbeddingModel): Promise<void> {
    if (hasEnough(model.stats) || hasEnough(await model.count())) return;
    const { embedded = 0, pending = 0 } = model.stats ?? {};
    const { id, model: name } = model.provider;
    const activity = model.activity ?? (model === this.#primary ? this.#whyPending() : undefined);
    const more = activity === undefined ? "" : sentence("vectors.activity", { activity });
    const counts = { embedded, chunks: embedded + pending, model: `${id}/${name}`, more };
    throw new NotFilled("transient", sentence(model.stats ? "vectors.ofModel" : "vectors.noneOfModel", counts));
  }

  async #embedWith(model: EmbeddingModel, query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    const patience = AbortSignal.timeout(readyWaitMs);
    await model.prepare({ signal: AbortSignal.any([signal, patience]), retry: false }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!patience.aborted) throw error;
      const activity = model.activity ?? "loading";
      throw new ProviderError("transient", sentence("provider.notReady", { provider: model.provider.id, activity }));
    });
    const vector = await model.requests.embedQuery(query, { signal, reason: "search" });
    let space = await model.knownSpace();
    if (space?.dimensions !== vector.length) space = await this.#changedSpace(model, vector.length, signal);
    const name = JSON.stringify(space);
    if (name !== this.#usedSpace) await this.#context.store.useSpace(space);
    this.#usedSpace = name;
    this.answeredBy = model.provider;
    return { space, vector };
  }

  async #changedSpace(model: EmbeddingModel, length: number, signal: AbortSignal): Promise<VectorSpace> {
    const before = await model.knownSpace();
    // A single answer may be wrong.
    const own = AbortSignal.any([signal, AbortSignal.timeout(readyWaitMs)]);
    const options = { signal: own, reason: "search", asked: false };
    const [again] = model.isFixed ? [] : await model.requests.embed([plainText], options).catch(() => []);
    signal.throwIfAborted();
    if (again?.length === length) model.observed(length);
    const space = await model.knownSpace();
    if (space?.dimensions !== length)
      throw new ProviderError(
        "transient",
        `${model.provider.id} gave a vector of ${length} numbers where the stored ones have ${before?.dimensions ?? "none"}: ${otherModel}`,
      );
    await this.#assertFilled(model);
    return space;
  }

  async #openEarlier(): Promise<EmbeddingModel | undefined> {
    const { openModel } = this.#choice;
    if (!openModel) return undefined;
    for (const space of await this.#earlierSpaces()) {
      const provider = await openModel(space.model, this.#context.closing).catch(() => undefined);
      // With other settings the same model makes other vectors.
      const fits =
        provider?.model === space.model &&
        (provider.cacheKey ?? "") === space.providerKey &&
        (provider.dimensions ?? space.dimensions) === space.dimensions;
      if (fits) return new EmbeddingModel(provider, this.#context, space);
    }
    return undefined;
  }

  /** Filled spaces of the same provider only: a replaced provider must not see further queries. */
  async #earlierSpaces(): Promise<VectorSpace[]> {
    const { store } = this.#context;
    const found: VectorSpace[] = [];
    const present = await this.#primary.knownSpace();
    const own = present && spaceName({ ...present, dimensions: 0 });
    for (const { space } of await store.spaces()) {
      // A space of the same model with vectors of another length is no longer served.
      if (space.provider !== this.#primary.provider.id || spaceName({ ...space, dimensions: 0 }) === own) continue;
      if (hasEnough(await store.spaceStats(space))) found.push(space);
    }
    return found;
  }
}

export const otherModel =
  "it serves another model under the same name; name the model in memorySearch.model, or run `memslot memory index --force` to embed everything with it";

function hasEnough({ embedded, pending }: SpaceStats = { embedded: 0, pending: 0, quarantined: 0 }): boolean {
  return embedded > 0 && embedded >= enoughVectors * (embedded + pending);
}

function fallbackToo(error: unknown, other: unknown): Sentence {
  return sentence("provider.fallback", { error: sentenceOf(error), other: sentenceOf(other) });
}
