import {
  type EmbeddingChoice,
  EmbeddingError,
  type EmbeddingProvider,
  type MemoryFallback,
  messageOf,
} from "@memslot/core";
import type { SpaceStats } from "../index-records.ts";
import { type VectorSpace, spaceName } from "../chunk-store.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { plainText } from "./requests/requests.ts";
import { isForGood, Lane, type LaneContext, refusalOf } from "./lane.ts";

/** How long a search waits for a model that is being loaded. */
const readyWaitsMs = 8000;

/** Too few vectors to search in. */
export class NotFilled extends EmbeddingError {}

/** The vector of a query, and the space that it may be compared in. */
export interface EmbeddedQuery {
  space: VectorSpace;
  vector: Float32Array;
  /** Why these are not the vectors that the configuration asks for. */
  note?: string | undefined;
  fallback?: MemoryFallback | undefined;
}

/** Which provider makes the vector of a question: the configured one, its spare, or the model before it. */
export class QuestionLanes {
  readonly #primary: Lane;
  readonly #choice: EmbeddingChoice;
  readonly #context: LaneContext;
  /** Why the primary lane has not all of its vectors. */
  readonly #whyPending: () => string | undefined;
  /** The model that made earlier vectors, asked while those of the present model are being made. */
  #earlier: Promise<Lane | undefined> | undefined;
  #isEarlierProtected = false;
  #opening: Promise<Lane> | undefined;
  #spare: Lane | undefined;
  #fallback: MemoryFallback | undefined;
  #answeredBy: EmbeddingProvider | undefined;
  /** The space that the store has laid out for search. */
  #usedSpace = "";

  constructor(primary: Lane, choice: EmbeddingChoice, context: LaneContext, whyPending: () => string | undefined) {
    this.#primary = primary;
    this.#choice = choice;
    this.#context = context;
    this.#whyPending = whyPending;
  }

  /** The lane of the spare, where it is open. */
  get spare(): Lane | undefined {
    return this.#spare;
  }

  /** What answers in place of the configured provider, and why. */
  get fallback(): MemoryFallback | undefined {
    return this.#fallback;
  }

  /** Whose vector the last question had. */
  get answeredBy(): EmbeddingProvider | undefined {
    return this.#answeredBy;
  }

  /** Throws where keywords have to answer alone: an `EmbeddingError` with the reason, or the error of an abort. */
  async embed(query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    // What looks like a secret goes nowhere, not even in a question.
    const asked = redactSecrets(query);
    try {
      const refused = this.#choice.spare && refusalOf(this.#primary);
      if (refused) throw refused;
      await this.#assertFilled(this.#primary);
      const answer = await this.#ask(this.#primary, asked, signal);
      this.#fallback = undefined;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NotFilled) return await this.#askEarlier(error, asked, signal);
      if (!isForGood(error)) throw error;
      return await this.#askSpare(error, asked, signal);
    }
  }

  /** The spare, opened at the first need of it; where that fails it is tried again the next time. */
  async openSpare(cause: EmbeddingError): Promise<Lane | undefined> {
    const { spare } = this.#choice;
    if (!spare) return undefined;
    const { closing } = this.#context;
    try {
      this.#opening ??= spare.open(closing).then((other) => new Lane(other, this.#context));
      this.#spare = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      closing.throwIfAborted();
      throw new EmbeddingError("transient", `${cause.message}; the fallback: ${messageOf(error)}`, { cause: error });
    }
    this.#fallback = { from: this.#primary.provider.id, to: spare.id, reason: cause.message };
    return this.#spare;
  }

  /** The configured provider works again. */
  endFallback(): void {
    this.#fallback = undefined;
  }

  /**
   * Tells the store that the vectors of the model before are still in use, before the first vectors of another are put in:
   * a store that keeps no cache would take them for left over.
   */
  async protectEarlier(): Promise<void> {
    if (!this.#choice.openModel || this.#isEarlierProtected) return;
    const [space] = await this.#earlierSpaces();
    if (space) await this.#context.store.useSpace(space);
    this.#isEarlierProtected = true;
  }

  async close(): Promise<void> {
    const earlier = await this.#earlier?.catch(() => undefined);
    await Promise.allSettled([this.#spare, earlier].map(async (lane) => lane?.close()));
  }

  /** Keywords are better than the few vectors of a lane that is still being filled. */
  async #assertFilled(lane: Lane): Promise<void> {
    if (hasEnough(lane.stats()) || hasEnough(await lane.count())) return;
    const { embedded = 0, pending: missing = 0 } = lane.stats() ?? {};
    const { id, model } = lane.provider;
    const share = lane.stats() ? `${embedded} of ${embedded + missing} chunks have` : "no chunk has";
    const working = lane.activity() ?? (lane === this.#primary ? this.#whyPending() : undefined);
    const why = working === undefined ? "" : ` (${working})`;
    throw new NotFilled("transient", `${share} their vector of ${id}/${model} yet${why}`);
  }

  async #ask(lane: Lane, query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    const patience = AbortSignal.timeout(readyWaitsMs);
    await lane.prepare({ signal: AbortSignal.any([signal, patience]), retry: false }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!patience.aborted) throw error;
      throw new EmbeddingError("transient", `${lane.provider.id} is not ready: ${lane.activity() ?? "loading"}`);
    });
    const vector = await lane.requests.embedQuery(query, { signal, reason: "search" });
    let space = await lane.knownSpace();
    if (space?.dimensions !== vector.length) space = await this.#changedSpace(lane, vector.length, signal);
    const name = JSON.stringify(space);
    if (name !== this.#usedSpace) await this.#context.store.useSpace(space);
    this.#usedSpace = name;
    this.#answeredBy = lane.provider;
    return { space, vector };
  }

  /** The space of a provider that makes vectors of another length than the stored ones, once enough of them are there. */
  async #changedSpace(lane: Lane, length: number, signal: AbortSignal): Promise<VectorSpace> {
    const before = await lane.knownSpace();
    // A single answer may be wrong.
    const own = AbortSignal.any([signal, AbortSignal.timeout(readyWaitsMs)]);
    const how = { signal: own, reason: "search", asked: false, progress: () => undefined };
    const [again] = lane.isFixed ? [] : await lane.requests.embed([plainText], how).catch(() => []);
    signal.throwIfAborted();
    if (again?.length === length) lane.shown(length);
    const space = await lane.knownSpace();
    if (space?.dimensions !== length) throw otherSize(lane, length, before);
    await this.#assertFilled(lane);
    return space;
  }

  async #askSpare(cause: EmbeddingError, query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    const lane = await this.openSpare(cause);
    if (!lane) throw cause;
    await this.#assertFilled(lane).catch((error: unknown) => {
      if (!(error instanceof NotFilled)) throw error;
      throw new NotFilled("transient", `${cause.message}; the fallback: ${error.message}`);
    });
    const { model, id } = lane.provider;
    const answer = await this.#ask(lane, query, signal);
    return { ...answer, note: `${cause.message}; ${id}/${model} answered`, fallback: this.#fallback };
  }

  /** While the vectors of a new model are being made, those of the one before it answer. */
  async #askEarlier(cause: NotFilled, query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    const lane = await (this.#earlier ??= this.#openEarlier());
    if (!lane) throw cause;
    await this.#assertFilled(lane);
    return { ...(await this.#ask(lane, query, signal)), note: `${cause.message}; ${lane.provider.model} answered` };
  }

  /** The lane of the first earlier model that can be reached and still makes the same vectors. */
  async #openEarlier(): Promise<Lane | undefined> {
    const { openModel } = this.#choice;
    if (!openModel) return undefined;
    for (const space of await this.#earlierSpaces()) {
      const provider = await openModel(space.model, this.#context.closing).catch(() => undefined);
      // With other settings the same model makes vectors that mean something else.
      const fits =
        provider?.model === space.model &&
        (provider.cacheKey ?? "") === space.providerKey &&
        (provider.dimensions ?? space.dimensions) === space.dimensions;
      if (fits) return new Lane(provider, this.#context, space);
    }
    return undefined;
  }

  /**
   * Earlier spaces of the same provider with most of their vectors there, the one that was written to last first. Those of
   * another provider do not count: a user who has changed the provider may not want the old one to see another question.
   */
  async #earlierSpaces(): Promise<VectorSpace[]> {
    const { store } = this.#context;
    const found: VectorSpace[] = [];
    const present = await this.#primary.knownSpace();
    const own = present && spaceName({ ...present, dimensions: 0 });
    for (const { space } of await store.spaces()) {
      // The same model with vectors of another length is gone: who answers to its name now makes those of the present.
      if (space.provider !== this.#primary.provider.id || spaceName({ ...space, dimensions: 0 }) === own) continue;
      if (hasEnough(await store.spaceStats(space))) found.push(space);
    }
    return found;
  }
}

/** Whether a search by meaning is worth making. */
function hasEnough(stats: SpaceStats | undefined): boolean {
  return (
    stats !== undefined && stats.embedded > 0 && stats.embedded >= enoughVectors * (stats.embedded + stats.pending)
  );
}

/** The failure of a provider whose vectors have another length than before. */
function otherSize({ provider }: Lane, length: number, space: VectorSpace | undefined): EmbeddingError {
  return new EmbeddingError(
    "transient",
    `${provider.id} gave a vector of ${length} numbers where the stored ones have ${space?.dimensions ?? "none"}: it serves another model under the same name; name the model in memorySearch.model, or run \`memslot memory index --force\` to embed everything with it`,
  );
}

/** Less than this share of the chunks, and an earlier space is no better than words. */
const enoughVectors = 0.8;
