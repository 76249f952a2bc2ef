import { EmbeddingError, withDeadline } from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type Budget, OverBudget } from "../requests/budget.ts";
import type { FillProgress } from "./fill-progress.ts";
import { type FillStop, otherLength, stopOf } from "./fill-stop.ts";
import { type PackedText, requestLimits, shortenText, tokensOf } from "../requests/pack.ts";
import { createPendingQueue } from "./pending-queue.ts";
import type { EmbeddingRequests } from "../requests/requests.ts";
import { isTimeLimit } from "../requests/time-limit.ts";

export interface RequestFill {
  store: Pick<ChunkIndex, "pendingVectors" | "putVectors" | "quarantine">;
  space: VectorSpace;
  requests: EmbeddingRequests;
  concurrency: number;
  budget: Budget | undefined;
  reason: string;
  asked: boolean;
  signal: AbortSignal;
  progress: FillProgress;
  /** Which of the pending texts are wanted; all where it is left out. */
  accept?: ((hash: string) => boolean) | undefined;
}

const pageSize = 512;
/** So many texts refused one by one and none taken: the texts are not to blame. */
const mostRefused = 8;
/** No provider has a reason to refuse it, nor to take long for it. */
const plainText = "memory";
const plainMs = 15_000;

/**
 * Makes missing vectors with direct calls, several at one time, and stores each answer as it comes. Where a request is
 * refused it is sent again in halves, down to the text that is to blame, which is quarantined. Gives why it ended before
 * all were made.
 */
export async function fillByRequests(fill: RequestFill): Promise<FillStop | undefined> {
  const { store, space, requests, budget, signal, progress, accept } = fill;
  const { provider } = requests;
  const queue = createPendingQueue({ store, space, provider, pageSize, accept });
  /** Gets smaller when requests turn out to be too large, and never grows again. */
  const limits = requestLimits(provider);
  const refused: { hash: string; reason: string }[] = [];
  /** Texts that a request may have to be answered in time, as far as is known. */
  let mostInTime = Number.POSITIVE_INFINITY;
  let hasSucceeded = false;
  /** Estimated tokens of the requests that are on their way. */
  let tokensAway = 0;
  let stop: FillStop | undefined;
  let failure: { error: unknown } | undefined;

  function isOver(): boolean {
    return stop !== undefined || failure !== undefined;
  }

  function tokensFree(): number {
    return budget ? budget.left() - tokensAway : Number.POSITIVE_INFINITY;
  }

  /** One request. Undefined where it was not made, or where its vectors cannot be used: then `stop` says why. */
  async function send(texts: readonly PackedText[]): Promise<Float32Array[] | undefined> {
    const tokens = tokensOf(texts);
    if (budget && tokens > tokensFree()) stop ??= budget.stop();
    if (isOver()) return undefined;
    tokensAway += tokens;
    try {
      const { reason, asked } = fill;
      const vectors = await requests.embed(
        texts.map(({ text }) => text),
        { signal, reason, asked, budget, onRetry: progress.waiting },
      );
      const other = otherLength(vectors, space, provider);
      if (!other) return vectors;
      stop ??= other;
      return undefined;
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof OverBudget)) throw error;
      stop ??= { reason: error.message };
      return undefined;
    } finally {
      tokensAway -= tokens;
    }
  }

  /** Makes and stores vectors of texts, in as many requests as it takes. True when it took one. */
  async function embed(texts: readonly PackedText[]): Promise<boolean> {
    let vectors: Float32Array[] | undefined;
    if (texts.length > mostInTime) {
      await embedHalves(texts);
      return false;
    }
    try {
      vectors = await send(texts);
    } catch (error) {
      signal.throwIfAborted();
      if (!EmbeddingError.is(error)) throw error;
      const isRefused = error.kind === "input";
      const [only] = texts;
      if (isRefused && only && texts.length === 1) return await refuse(only, error);
      const isLarge = !isRefused && texts.length > 1 && isTimeLimit(error) && (await answersAtAll(error));
      // None of its size is sent again: each would take as long.
      if (isLarge) {
        mostInTime = Math.min(mostInTime, Math.ceil(texts.length / 2));
        limits.items = Math.min(limits.items, mostInTime);
      }
      if (isRefused || isLarge) {
        await embedHalves(texts);
        return false;
      }
      stop ??= stopOf(error);
    }
    if (!vectors) return false;
    await store.putVectors(
      space,
      texts.map(({ hash }, index) => ({ hash, vector: vectors[index] as Float32Array })),
    );
    settle(texts.map(({ hash }) => hash));
    hasSucceeded = true;
    if (refused.length > 0) await quarantineRefused();
    return true;
  }

  /** After a request that got no answer in time: whether it was too large, or the provider answers nothing. */
  async function answersAtAll(late: EmbeddingError): Promise<boolean> {
    if (isOver()) return false;
    progress.waiting(`${late.message}; it is asked with a single word, for ${plainMs / 1000} s at most`);
    try {
      const limits = { what: `the embedding provider ${provider.id}`, deadlineMs: plainMs, signals: [signal] };
      const { reason, asked } = fill;
      await withDeadline(limits, (inner) => requests.embed([plainText], { signal: inner, reason, asked, budget }));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** Where the whole does not pass and both halves do, it was too large. */
  async function embedHalves(texts: readonly PackedText[]): Promise<void> {
    const middle = Math.ceil(texts.length / 2);
    const halves = [texts.slice(0, middle), texts.slice(middle)];
    let passed = 0;
    for (const half of halves) if (await embed(half)) passed++;
    if (passed < halves.length) return;
    limits.items = Math.min(limits.items, middle);
    limits.tokens = Math.min(limits.tokens, Math.max(...halves.map(tokensOf)));
  }

  async function refuse(packed: PackedText, error: EmbeddingError): Promise<boolean> {
    const shorter = shortenText(packed, provider);
    if (shorter) return await embed([shorter]);
    refused.push({ hash: packed.hash, reason: error.message });
    if (hasSucceeded) await quarantineRefused();
    else if (refused.length >= mostRefused) stop ??= wrongSetting(error.message);
    return false;
  }

  /** With no text taken yet, the few that there were may all be bad, or none: a text that must pass decides. */
  async function judgeRefused(): Promise<void> {
    const [first] = refused;
    if (!first) return;
    try {
      const vectors = await send([{ hash: "", text: plainText, tokens: 2, bytes: plainText.length }]);
      if (vectors) await quarantineRefused();
    } catch (error) {
      signal.throwIfAborted();
      if (!EmbeddingError.is(error)) throw error;
      stop ??= error.kind === "input" ? wrongSetting(first.reason) : stopOf(error);
    }
  }

  async function quarantineRefused(): Promise<void> {
    const entries = refused.splice(0);
    await store.quarantine(space, entries);
    settle(entries.map(({ hash }) => hash));
  }

  function settle(hashes: readonly string[]): void {
    queue.settle(hashes);
    progress.add(hashes.length);
  }

  function wrongSetting(reason: string): FillStop {
    const words = `${provider.id} refuses every text, so that the texts are not to blame; check memorySearch.model and what is set beside it: ${reason}`;
    return stopOf(new EmbeddingError("auth", words));
  }

  async function work(): Promise<void> {
    try {
      while (!isOver()) {
        // What is left of the budget is used to its end.
        const room = Math.min(limits.tokens, tokensFree());
        const texts = await queue.take({ ...limits, tokens: room });
        signal.throwIfAborted();
        if (texts.length === 0) return;
        await embed(texts);
      }
    } catch (error) {
      failure ??= { error };
    }
  }

  await Promise.all(Array.from({ length: Math.max(1, fill.concurrency) }, work));
  if (!failure) await judgeRefused();
  signal.throwIfAborted();
  if (failure) throw failure.error;
  return stop;
}
