import {
  type EmbeddingBatches,
  EmbeddingError,
  embeddingErrorOf,
  type MemorySearchSettings,
  traceCall,
  withDeadline,
} from "@memslot/core";
import { setTimeout as pause } from "node:timers/promises";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type { Budget } from "../requests/budget.ts";
import { collectJob, type JobResult } from "./collect-job.ts";
import type { FillProgress } from "../fill/fill-progress.ts";
import { type FillStop, stopOf } from "../fill/fill-stop.ts";
import { type JobRecord, openJobRecords } from "./job-records.ts";
import { createJobTable, type JobTable } from "./job-table.ts";
import { type PackedText, tokensOf } from "../requests/pack.ts";
import { createPendingQueue, type PendingQueue } from "../fill/pending-queue.ts";
import type { EmbeddingRequests } from "../requests/requests.ts";

export interface BatchRunOptions {
  batches: EmbeddingBatches;
  settings: MemorySearchSettings["remote"]["batch"];
  stateDir: string;
  agentId: string;
  requests: EmbeddingRequests;
  notify: (line: string) => void;
  /** A job for fewer texts is not worth the waiting: direct calls make their vectors. 1 if left out. */
  minTexts?: number | undefined;
  now?: (() => Date) | undefined;
  /** Rejects when the signal is aborted. */
  sleep?: ((milliseconds: number, signal: AbortSignal) => Promise<void>) | undefined;
}

interface BatchFill {
  store: Pick<ChunkIndex, "pendingVectors" | "putVectors" | "quarantine">;
  space: VectorSpace;
  budget: Budget | undefined;
  reason: string;
  asked: boolean;
  signal: AbortSignal;
  progress: FillProgress;
}

interface BatchOutcome {
  /** Why nothing more may be sent. */
  stop: FillStop | undefined;
  /** Set where texts are still on the other side. */
  waiting: FillStop | undefined;
  /** Which of the pending texts direct calls have to make; undefined: none. */
  direct: ((hash: string) => boolean) | undefined;
}

/** Makes missing vectors through the batch interface of a provider. */
export interface BatchRun {
  /** Throws the reason of an abort, and what the store throws; jobs on their way are found again by the next run. */
  run(fill: BatchFill): Promise<BatchOutcome>;
}

const minuteMs = 60_000;
const shortCallMs = minuteMs;
/** A file of many megabytes goes up or comes down. */
const longCallMs = 5 * minuteMs;
/** No provider works on a job for longer. */
const longestJobMs = 48 * 60 * minuteMs;
/** With so many failed jobs the rest is made by direct calls. */
const mostFailures = 2;

export function createBatchRun(options: BatchRunOptions): BatchRun {
  return { run: async (fill) => await startRun(options, fill).run() };
}

function startRun(options: BatchRunOptions, fill: BatchFill): { run(): Promise<BatchOutcome> } {
  const {
    batches,
    settings,
    agentId,
    requests,
    notify,
    minTexts = 1,
    now = () => new Date(),
    sleep = pauseFor,
  } = options;
  const { store, space, budget, signal, progress } = fill;
  const { provider } = requests;
  const startedAt = now().getTime();
  const jobs: JobTable = createJobTable(openJobRecords(options), space);
  /** Hashes of texts that direct calls have to make. */
  const direct = new Set<string>();
  const queue: PendingQueue = createPendingQueue({
    store,
    space,
    provider,
    pageSize: Math.min(batches.maxItems, 16_384),
    accept: (hash) => !jobs.holds(hash) && !direct.has(hash),
  });
  let failures = 0;
  let isDirect = false;
  let quietUntil = 0;
  let stop: FillStop | undefined;

  /** A call to the batch interface. Throws an `EmbeddingError`, or the reason of an abort. */
  async function ask<T>(
    method: keyof EmbeddingBatches,
    deadlineMs: number,
    call: (signal: AbortSignal) => Promise<T>,
    texts?: number,
  ): Promise<T> {
    try {
      const what = `the batch interface of ${provider.id}`;
      return await traceCall(
        "provider",
        () => ({
          operation: `batches.${method}`,
          provider: provider.id,
          model: provider.model,
          ...(texts !== undefined && { texts }),
        }),
        () => withDeadline({ what, deadlineMs, signals: [signal] }, call),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw embeddingErrorOf(error, provider.id);
    }
  }

  async function rest(): Promise<void> {
    try {
      await sleep(settings.pollIntervalMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  function useDirectCalls(why: string): void {
    if (isDirect) return;
    isDirect = true;
    notify(`batch jobs of ${provider.id} do not work now, so that direct calls make the vectors: ${why}`);
  }

  function countFailure(why: string, before = 0): void {
    failures = Math.max(failures, before) + 1;
    if (failures >= mostFailures) useDirectCalls(why);
  }

  async function submit(texts: readonly PackedText[]): Promise<void> {
    const hashes = texts.map(({ hash }) => hash);
    let job: string;
    try {
      const sent = texts.map(({ text }) => text);
      job = await ask("submit", longCallMs, (inner) => batches.submit(sent, { signal: inner }), sent.length);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      queue.giveAgain(hashes);
      return await submitFailed(error);
    }
    requests.circuit.succeed();
    const submittedAt = now().toISOString();
    const record = { job, agentId, space, hashes, tokens: Math.ceil(tokensOf(texts)), failures, submittedAt };
    jobs.add(record);
  }

  async function submitFailed(error: EmbeddingError): Promise<void> {
    if (error.kind === "rate") {
      requests.circuit.fail(error);
      stop = stopOf(error);
    } else if (error.kind === "quota" || error.kind === "auth") {
      // A key may be allowed to embed and not to keep files: the first direct call shows whether the account is refused.
      useDirectCalls(error.message);
    } else {
      countFailure(error.message);
      if (!isDirect) await rest();
    }
  }

  function maySubmit(): boolean {
    return !isDirect && !stop && jobs.running().length < settings.concurrency;
  }

  async function submitPending(): Promise<void> {
    while (maySubmit()) {
      const room = budget ? budget.left() - jobs.tokens() : Number.POSITIVE_INFINITY;
      const texts = await queue.take({ items: batches.maxItems, bytes: batches.maxBytes, tokens: room });
      signal.throwIfAborted();
      if (texts.length === 0) return;
      if (budget && tokensOf(texts) > room) stop = budget.stop();
      else if (texts.length < minTexts) for (const { hash } of texts) direct.add(hash);
      else if (requests.circuit.enter(fill.asked)) await submit(texts);
      else stop = refusedBy(requests);
    }
  }

  async function look(record: JobRecord): Promise<void> {
    try {
      const state = await ask("state", shortCallMs, (inner) => batches.state(record.job, { signal: inner }));
      if (state.state === "unknown") {
        const isOwn = jobs.isOwn(record);
        jobs.remove(record);
        queue.giveAgain(record.hashes);
        if (isOwn) countFailure(state.reason);
      } else if (state.state !== "running") {
        await collect(record, state.state, state.state === "done" ? undefined : state.reason);
      } else if (isOverdue(record)) {
        await ask("cancel", shortCallMs, (inner) => batches.cancel(record.job, { signal: inner })).catch(() =>
          signal.throwIfAborted(),
        );
        dropOverdue(record);
      } else jobs.advance(record, state.completed ?? 0);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      if (isOverdue(record)) dropOverdue(record);
      else if (error.kind !== "transient" && error.kind !== "rate") jobs.setAside(record, error);
      else quietUntil = Math.max(quietUntil, now().getTime() + (error.retryAfterMs ?? 0));
    }
  }

  /** A job that an earlier run submitted has its full time in this one. */
  function isOverdue({ submittedAt }: JobRecord): boolean {
    const time = now().getTime();
    const ageMs = time - Date.parse(submittedAt);
    return (
      ageMs > longestJobMs || (settings.wait && Math.min(ageMs, time - startedAt) > settings.timeoutMinutes * minuteMs)
    );
  }

  function dropOverdue(record: JobRecord): void {
    jobs.remove(record);
    queue.giveAgain(record.hashes);
    const minutes = Math.round((now().getTime() - Date.parse(record.submittedAt)) / minuteMs);
    countFailure(`the job ${record.job} was not finished after ${minutes} minutes`, record.failures);
  }

  async function collect(
    record: JobRecord,
    state: "done" | "failed" | "expired",
    why: string | undefined,
  ): Promise<void> {
    const { job, hashes } = record;
    let said: number | undefined;
    let results: JobResult[] = [];
    try {
      const onUsage = ({ tokens }: { tokens: number }): void => void (said = (said ?? 0) + tokens);
      results = await ask("collect", longCallMs, (inner) =>
        batches.collect(job, { count: hashes.length, signal: inner, onUsage }),
      );
    } catch (error) {
      const mayComeYet = EmbeddingError.is(error, "transient") || EmbeddingError.is(error, "rate");
      // A job that failed may have nothing to be collected.
      if (!EmbeddingError.is(error) || state === "done" || mayComeYet) throw error;
    }
    const outcome = await collectJob({ hashes, results, store, space, requests });
    const { stored, quarantined, missing, reason } = outcome;
    const isFirst = jobs.remove(record);
    const tokens = Math.ceil(said ?? (record.tokens * stored) / hashes.length);
    if (isFirst && tokens > 0) requests.spent({ reason: fill.reason, requests: 1, tokens });
    // Nothing hangs on it: a file that stays there is deleted by the other side in time.
    await ask("discard", shortCallMs, async (inner) => batches.discard?.(job, { signal: inner })).catch(
      () => undefined,
    );
    const missed = new Set(missing);
    queue.settle(hashes.filter((hash) => !missed.has(hash)));
    progress.elsewhere(jobs.completed());
    progress.add(stored + quarantined);
    stop ??= outcome.stop;
    if (outcome.stop) return;
    const isLost = stored === 0 && state !== "done";
    if (isLost) queue.giveAgain(missing);
    else for (const hash of missing) direct.add(hash);
    if (state === "failed" || stored === 0)
      countFailure(why ?? reason ?? `the job ${job} gave no vectors`, record.failures);
  }

  async function lookAtAll(): Promise<void> {
    for (const record of jobs.running()) {
      if (now().getTime() < quietUntil) return;
      await look(record);
    }
  }

  return {
    async run() {
      await lookAtAll();
      for (;;) {
        await submitPending();
        if (jobs.running().length === 0 || !settings.wait) break;
        progress.elsewhere(jobs.completed());
        await rest();
        await lookAtAll();
      }
      progress.elsewhere(0);
      return {
        stop,
        waiting: jobs.waiting(),
        direct: isDirect ? (hash) => !jobs.holds(hash) : direct.size > 0 ? (hash) => direct.has(hash) : undefined,
      };
    },
  };
}

function refusedBy({ circuit, provider }: EmbeddingRequests): FillStop {
  const state = circuit.state();
  if (!state) return { reason: `${provider.id} is being tried again just now` };
  return stopOf(new EmbeddingError(state.kind, `${state.reason}; no request is made before ${state.nextProbeAt}`));
}

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal });
}
