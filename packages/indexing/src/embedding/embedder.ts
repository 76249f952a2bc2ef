import {
  type AvailabilityProbe,
  type EmbeddingChoice,
  EmbeddingError,
  type EmbeddingProvider,
  type EmbeddingStatus,
  type MemoryFallback,
  type MemorySearchSettings,
  messageOf,
  type SyncReport,
} from "@memslot/core";
import type { ChunkIndex, QuarantinedChunk } from "../chunk-index.ts";
import { type Budget, createBudget } from "./requests/budget.ts";
import { fillLane, type FillRequest } from "./fill/fill-lane.ts";
import { type EmbeddedQuery, QuestionLanes } from "./question-lanes.ts";
import { listBatchJobs } from "./jobs/job-records.ts";
import { createLane, isForGood, type Lane, type LaneContext, refusalOf } from "./lane.ts";
import { openUsage } from "./requests/usage.ts";

const probeMs = 30_000;
const shownQuarantined = 100;
const notKept =
  "the index is kept in memory and ends with this process, so that vectors are made only when they are asked for";

/** The vector half of an index: with which provider texts become vectors, and which vectors a query meets. */
export interface Embedder {
  /** The first provider with the space that its vectors are in, where that is known. */
  readonly primary: Pick<Lane, "provider" | "knownSpace">;
  /** A request is likely to come: what it needs is loaded while other work goes on. */
  warm(): void;
  /** Throws where keywords have to answer alone: an `EmbeddingError` with the reason, or the error of an abort. */
  embedQuery(query: string, signal: AbortSignal): Promise<EmbeddedQuery>;
  /** Makes the vectors that are missing. Gives what is left, and why. Throws when the store fails. */
  embedMissing(request: FillRequest): Promise<SyncReport["pendingVectors"]>;
  /** Counts what is missing; to be called after files were indexed. */
  count(): Promise<void>;
  /**
   * Why a build that is being made must not take over yet: it would know less of its chunks by meaning than the one that
   * answers. Undefined where nothing speaks against it.
   */
  obstacle(): Promise<string | undefined>;
  /** True when `embedMissing` has something to do, as far as is known. */
  isBehind(): boolean;
  /** One real request, whatever failed before. */
  probe(signal: AbortSignal): Promise<AvailabilityProbe>;
  facts(): EmbedderFacts;
  close(): Promise<void>;
}

interface EmbedderFacts {
  status: EmbeddingStatus;
  /** Chunks with a vector of the first provider. */
  embedded: number;
  /** Chunks without one that are not quarantined; undefined until they were counted. */
  missing: number | undefined;
  dimensions: number | undefined;
  fallback: MemoryFallback | undefined;
  /** Fills by batch jobs that failed, one after the other. */
  batchFailures: { count: number; message: string; provider: string } | undefined;
}

export function createEmbedder(input: {
  store: ChunkIndex;
  provider: EmbeddingProvider;
  choice: EmbeddingChoice;
  settings: MemorySearchSettings;
  agentId: string;
  stateDir: string;
  notify: (line: string) => void;
}): Embedder {
  const { store, provider, choice, settings, agentId, stateDir, notify } = input;
  const closing = new AbortController();
  const usage = openUsage({ stateDir, agentId });
  const { embeddingBatchTimeoutSeconds: seconds } = settings.sync;
  const requestMs = seconds === undefined ? undefined : seconds * 1000;
  const context: LaneContext = { store, stateDir, usage, requestMs, closing: closing.signal };
  const primary = createLane(provider, context);
  const questions = new QuestionLanes({ primary, choice, context, whyPending: () => pending?.reason });
  const { tokensPerDay } = settings.budget;
  const budget: Budget | undefined = tokensPerDay === undefined ? undefined : createBudget(usage, tokensPerDay);
  let pending: SyncReport["pendingVectors"];
  let batchFailures: EmbedderFacts["batchFailures"];
  let quarantined: QuarantinedChunk[] = [];
  let dimensions = provider.dimensions;
  let noted: Pick<EmbeddingStatus, "circuit" | "budget" | "jobs"> = {};

  /** Writes down what a status shows and other processes may have changed: a status itself reads no file. */
  function note(): void {
    noted = {
      circuit: primary.requests.circuit.state(),
      budget: tokensPerDay === undefined ? undefined : { tokensPerDay, usedToday: usage.tokensToday() },
      jobs: settings.remote.batch.enabled ? listBatchJobs({ stateDir, agentId }) : undefined,
    };
  }

  async function count(): Promise<void> {
    await primary.count();
    await questions.spare?.count();
    const space = await primary.knownSpace();
    dimensions = space?.dimensions;
    quarantined = space ? await store.quarantined(space, shownQuarantined) : [];
    note();
  }

  function fillOne(lane: Lane, request: FillRequest): ReturnType<typeof fillLane> {
    const { remote } = settings;
    return fillLane(lane, request, { store, remote, stateDir, agentId, budget: budgetOf(lane), notify });
  }

  function budgetOf({ provider: { price } }: Lane): Budget | undefined {
    return price?.usdPerMillionTokens === 0 ? undefined : budget;
  }

  /** What is left undone where nobody has asked for vectors that end with this process. */
  async function leaveUndone(): Promise<SyncReport["pendingVectors"]> {
    await count();
    const chunks = primary.stats()?.pending ?? (await store.stats()).chunks;
    return chunks === 0 ? undefined : { chunks, reason: notKept };
  }

  return {
    primary,
    warm: () => primary.warm(),

    async embedQuery(query, signal) {
      try {
        return await questions.embed(query, signal);
      } finally {
        note();
      }
    },

    async embedMissing(given) {
      const request = { ...given, signal: AbortSignal.any([given.signal, closing.signal]) };
      if (store.health().isTemporary === true && !request.asked) return (pending = await leaveUndone());
      const space = await primary.knownSpace();
      if (space !== undefined) await store.giveVectors?.(space);
      if (!settings.cache.enabled && primary.stats()?.pending !== 0) await questions.protectEarlier();
      const wasRefused = refusalOf(primary) !== undefined;
      let outcome = await fillOne(primary, request);
      // With nothing missing nobody would find out that the provider is back.
      if (!outcome && request.asked && wasRefused && refusalOf(primary))
        await primary.requests
          .embed(["memory"], { ...request, budget: budgetOf(primary) })
          .catch(unlessAborted(request));
      const cause = outcome?.error ?? refusalOf(primary);
      if (isForGood(cause)) {
        const lane = await questions.openSpare(cause).catch((error: unknown) => {
          if (EmbeddingError.is(error)) outcome = { chunks: outcome?.chunks ?? 0, reason: error.message, error };
          else throw error;
        });
        if (lane) outcome = await fillOne(lane, { ...request, force: false });
      } else questions.endFallback();
      pending = outcome && { chunks: outcome.chunks, reason: outcome.reason, failure: outcome.error?.kind };
      if (settings.remote.batch.enabled)
        batchFailures = outcome?.error && {
          count: 1 + (batchFailures?.count ?? 0),
          message: outcome.reason,
          provider: provider.id,
        };
      await count();
      return pending;
    },

    count,

    async obstacle() {
      const stats = await primary.count();
      const missing = stats?.nextPending ?? 0;
      const chunks = (await store.stats()).generation?.next?.chunks ?? 0;
      if (!stats || missing === 0 || chunks === 0) return undefined;
      const share = stats.embedded / Math.max(1, stats.embedded + stats.pending);
      if (1 - missing / chunks >= share) return undefined;
      return `${missing} of its chunks have no vector yet${pending === undefined ? "" : `: ${pending.reason}`}`;
    },

    isBehind() {
      const lanes = choice.spare && refusalOf(primary) ? [primary, questions.spare] : [primary];
      return lanes.some((lane) => lane?.stats()?.pending !== 0 || (lane.stats()?.nextPending ?? 0) > 0);
    },

    async probe(signal) {
      const started = performance.now();
      const tookMs = (): number => Math.round(performance.now() - started);
      const patience = AbortSignal.timeout(probeMs);
      const own = AbortSignal.any([signal, patience]);
      try {
        await primary.prepare({ signal: own, retry: true });
        const [vector] = await primary.requests.embed(["memory"], { signal: own, reason: "probe", asked: true });
        if (vector) primary.shown(vector.length);
        await count();
        return { ok: true, latencyMs: tookMs(), dimensions: vector?.length };
      } catch (error) {
        signal.throwIfAborted();
        const reason = patience.aborted ? `${provider.id} gave no answer within ${probeMs / 1000} s` : messageOf(error);
        return { ok: false, error: reason, latencyMs: tookMs() };
      } finally {
        note();
      }
    },

    facts() {
      const stats = primary.stats();
      const other = questions.answeredBy === provider ? undefined : questions.answeredBy;
      const missing = stats?.pending ?? 0;
      return {
        embedded: stats?.embedded ?? 0,
        missing: stats?.pending,
        dimensions,
        fallback: questions.fallback ?? choice.fallback,
        batchFailures,
        status: {
          ...embeddingStatus(choice, primary, other, quarantined),
          ...noted,
          pending: missing > 0 ? { chunks: missing, reason: pending?.reason ?? "they are being made" } : undefined,
        },
      };
    },

    async close() {
      closing.abort();
      await Promise.allSettled([primary.close(), questions.close()]);
    },
  };
}

/** A failure to embed shows in the circuit; an abort goes on. */
function unlessAborted({ signal }: { signal: AbortSignal }): () => void {
  return () => signal.throwIfAborted();
}

/** What a status says of the provider and of what it refused. `other`: the one whose vectors answer in its place. */
function embeddingStatus(
  { reason, passedOver }: EmbeddingChoice,
  { provider, activity }: Pick<Lane, "provider" | "activity">,
  other: EmbeddingProvider | undefined,
  quarantined: readonly QuarantinedChunk[],
): EmbeddingStatus {
  return {
    reason,
    passedOver,
    host: provider.endpoint?.host,
    keySource: provider.endpoint?.keySource,
    activity: activity(),
    answeredBy: other && { provider: other.id, model: other.model },
    quarantined: quarantined.map(({ path, startLine, endLine, reason: why }) => {
      return { path, startLine, endLine, reason: why };
    }),
  };
}
