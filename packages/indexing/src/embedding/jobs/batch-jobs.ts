import {
  type EmbeddingBatches,
  EmbeddingError,
  embeddingErrorOf,
  type MemorySearchSettings,
  traceCall,
  withDeadline,
} from "@memslot/core";
import { fillByRequests, type RequestFill } from "../fill/fill-by-requests.ts";
import { type FillStop, otherLength, PendingQueue, stopOf } from "../fill/pending.ts";
import { pause } from "../requests/circuit.ts";
import { type PackedText, tokensOf } from "../requests/pack.ts";
import type { Requests } from "../requests/requests.ts";
import { type JobRecord, JobTable } from "./job-table.ts";

/** What came of a text: a vector, why there is none, or nothing at all. */
export type JobResult = ArrayLike<number> | EmbeddingError | undefined;

export interface BatchRunOptions {
  batches: EmbeddingBatches;
  settings: MemorySearchSettings["remote"]["batch"];
  stateDir: string;
  agentId: string;
  notify: (line: string) => void;
  /** A job for fewer texts is not worth the waiting: direct calls make their vectors. 1 if left out. */
  minTexts?: number | undefined;
  now?: (() => Date) | undefined;
  /** Rejects when the signal is aborted. */
  sleep?: ((milliseconds: number, signal: AbortSignal) => Promise<void>) | undefined;
}

const minuteMs = 60_000;
/** No provider works on a job for longer. */
const longestJobMs = 48 * 60 * minuteMs;
/** With so many failed jobs the rest is made by direct calls. */
const mostFailures = 2;
const shortCallMs = minuteMs;
/** A file of many megabytes goes up or comes down. */
const longCallMs = 5 * minuteMs;
const writtenAtOnce = 256;

/**
 * Makes missing vectors through the batch interface of a provider, and those that it does not make by direct calls. Returns
 * why it ended before all were made. Throws the reason of an abort, and what the store throws; jobs on their way are found
 * again by the next run.
 */
export async function fillByJobs(options: BatchRunOptions, fill: RequestFill): Promise<FillStop | undefined> {
  return await new JobRun(options, fill).run();
}

class JobRun {
  readonly #options: BatchRunOptions;
  readonly #fill: RequestFill;
  readonly #now: () => Date;
  readonly #startedAt: number;
  readonly #jobs: JobTable;
  readonly #queue: PendingQueue;
  /** Hashes of texts that direct calls have to make. */
  readonly #direct = new Set<string>();
  /** Direct calls have to make all. */
  #isDirect = false;
  #failures = 0;
  #quietUntil = 0;
  #stop: FillStop | undefined;

  constructor(options: BatchRunOptions, fill: RequestFill) {
    const { batches, now = () => new Date() } = options;
    const { store, space, requests } = fill;
    this.#options = options;
    this.#fill = fill;
    this.#now = now;
    this.#startedAt = now().getTime();
    this.#jobs = new JobTable(options, space);
    this.#queue = new PendingQueue({
      store,
      space,
      provider: requests.provider,
      pageSize: Math.min(batches.maxItems, 16_384),
      accept: (hash) => !this.#jobs.holds(hash) && !this.#direct.has(hash),
    });
  }

  async run(): Promise<FillStop | undefined> {
    const { progress } = this.#fill;
    await this.#lookAtAll();
    for (;;) {
      await this.#submitPending();
      if (this.#jobs.running().length === 0 || !this.#options.settings.wait) break;
      progress.elsewhere(this.#jobs.completed());
      await this.#rest();
      await this.#lookAtAll();
    }
    progress.elsewhere(0);
    if (this.#stop) return this.#stop;
    const waiting = this.#jobs.waiting();
    if (!this.#isDirect && this.#direct.size === 0) return waiting;
    const accept = (hash: string): boolean => (this.#isDirect ? !this.#jobs.holds(hash) : this.#direct.has(hash));
    return (await fillByRequests({ ...this.#fill, accept })) ?? waiting;
  }

  async #rest(): Promise<void> {
    const { settings, sleep = pause } = this.#options;
    await sleep(settings.pollIntervalMs, this.#fill.signal);
  }

  #useDirectCalls(why: string): void {
    if (this.#isDirect) return;
    this.#isDirect = true;
    const { id } = this.#fill.requests.provider;
    this.#options.notify(`batch jobs of ${id} do not work now, so that direct calls make the vectors: ${why}`);
  }

  #countFailure(why: string, before = 0): void {
    this.#failures = Math.max(this.#failures, before) + 1;
    if (this.#failures >= mostFailures) this.#useDirectCalls(why);
  }

  async #submitPending(): Promise<void> {
    const { batches, minTexts = 1 } = this.#options;
    const { requests, budget, signal, asked } = this.#fill;
    while (this.#maySubmit()) {
      const room = budget ? budget.left() - this.#jobs.tokens() : Number.POSITIVE_INFINITY;
      const texts = await this.#queue.take({ items: batches.maxItems, bytes: batches.maxBytes, tokens: room });
      signal.throwIfAborted();
      if (texts.length === 0) return;
      if (budget && tokensOf(texts) > room) this.#stop = { reason: budget.reason() };
      else if (texts.length < minTexts) for (const { hash } of texts) this.#direct.add(hash);
      else if (requests.circuit.enter(asked)) await this.#submit(texts);
      else this.#stop = refusedBy(requests);
    }
  }

  #maySubmit(): boolean {
    return !this.#isDirect && !this.#stop && this.#jobs.running().length < this.#options.settings.concurrency;
  }

  async #submit(texts: readonly PackedText[]): Promise<void> {
    const { agentId, batches } = this.#options;
    const { space, requests } = this.#fill;
    const hashes = texts.map(({ hash }) => hash);
    const sent = texts.map(({ text }) => text);
    let job: string;
    try {
      job = await this.#ask("submit", longCallMs, (signal) => batches.submit(sent, { signal }), sent.length);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      this.#queue.giveAgain(hashes);
      return await this.#submitFailed(error);
    }
    requests.circuit.succeed();
    const submittedAt = this.#now().toISOString();
    const tokens = Math.ceil(tokensOf(texts));
    this.#jobs.add({ job, agentId, space, hashes, tokens, failures: this.#failures, submittedAt });
  }

  async #submitFailed(error: EmbeddingError): Promise<void> {
    if (error.kind === "rate") {
      this.#fill.requests.circuit.fail(error);
      this.#stop = stopOf(error);
    } else if (error.kind === "quota" || error.kind === "auth") {
      // A key may be allowed to embed and not to keep files: the first direct call shows whether the account is refused.
      this.#useDirectCalls(error.message);
    } else {
      this.#countFailure(error.message);
      if (!this.#isDirect) await this.#rest();
    }
  }

  async #lookAtAll(): Promise<void> {
    for (const record of this.#jobs.running()) {
      if (this.#now().getTime() < this.#quietUntil) return;
      await this.#look(record);
    }
  }

  async #look(record: JobRecord): Promise<void> {
    const { batches } = this.#options;
    const { job } = record;
    try {
      const state = await this.#ask("state", shortCallMs, (signal) => batches.state(job, { signal }));
      if (state.state === "unknown") {
        const isOwn = this.#jobs.isOwn(record);
        this.#jobs.remove(record);
        this.#queue.giveAgain(record.hashes);
        if (isOwn) this.#countFailure(state.reason);
      } else if (state.state !== "running") {
        await this.#collect(record, state.state, state.state === "done" ? undefined : state.reason);
      } else if (this.#isOverdue(record)) {
        // A failure is no matter: the run does not wait for this job any more.
        await this.#ask("cancel", shortCallMs, (signal) => batches.cancel(job, { signal })).catch(() =>
          this.#fill.signal.throwIfAborted(),
        );
        this.#dropOverdue(record);
      } else this.#jobs.advance(record, state.completed ?? 0);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      if (this.#isOverdue(record)) this.#dropOverdue(record);
      else if (error.kind !== "transient" && error.kind !== "rate") this.#jobs.setAside(record, error);
      else this.#quietUntil = Math.max(this.#quietUntil, this.#now().getTime() + (error.retryAfterMs ?? 0));
    }
  }

  /** A job that an earlier run submitted has its full time in this one. */
  #isOverdue({ submittedAt }: JobRecord): boolean {
    const { wait, timeoutMinutes } = this.#options.settings;
    const time = this.#now().getTime();
    const ageMs = time - Date.parse(submittedAt);
    return ageMs > longestJobMs || (wait && Math.min(ageMs, time - this.#startedAt) > timeoutMinutes * minuteMs);
  }

  #dropOverdue(record: JobRecord): void {
    this.#jobs.remove(record);
    this.#queue.giveAgain(record.hashes);
    const minutes = Math.round((this.#now().getTime() - Date.parse(record.submittedAt)) / minuteMs);
    this.#countFailure(`the job ${record.job} was not finished after ${minutes} minutes`, record.failures);
  }

  async #collect(record: JobRecord, state: "done" | "failed" | "expired", why: string | undefined): Promise<void> {
    const { batches } = this.#options;
    const { requests, progress, reason } = this.#fill;
    const { job, hashes } = record;
    const count = hashes.length;
    let said: number | undefined;
    const onUsage = ({ tokens }: { tokens: number }): void => void (said = (said ?? 0) + tokens);
    let results: JobResult[] = [];
    try {
      results = await this.#ask("collect", longCallMs, (signal) => batches.collect(job, { count, signal, onUsage }));
    } catch (error) {
      const mayComeYet = EmbeddingError.is(error, "transient") || EmbeddingError.is(error, "rate");
      // A job that failed may have nothing to be collected.
      if (!EmbeddingError.is(error) || state === "done" || mayComeYet) throw error;
    }
    const kept = await this.#keep(hashes, results);
    const isFirst = this.#jobs.remove(record);
    const tokens = Math.ceil(said ?? (record.tokens * kept.stored) / count);
    if (isFirst && tokens > 0) requests.spent({ reason, requests: 1, tokens });
    // Nothing hangs on it: a file that stays there is deleted by the other side in time.
    const discard = async (signal: AbortSignal): Promise<void> => batches.discard?.(job, { signal });
    await this.#ask("discard", shortCallMs, discard).catch(() => undefined);
    const missing = new Set(kept.missing);
    this.#queue.settle(hashes.filter((hash) => !missing.has(hash)));
    progress.elsewhere(this.#jobs.completed());
    progress.add(count - kept.missing.length);
    this.#stop ??= kept.stop;
    if (kept.stop) return;
    if (kept.stored === 0 && state !== "done") this.#queue.giveAgain(missing);
    else for (const hash of missing) this.#direct.add(hash);
    if (state === "failed" || kept.stored === 0)
      this.#countFailure(why ?? kept.reason ?? `the job ${job} gave no vectors`, record.failures);
  }

  /**
   * Stores what came of the texts of a job, whole: they were paid for, and the other side may not have them any more.
   * `missing` are those with neither a vector nor a refusal, `stop` says that the vectors are of another model; then none
   * is stored.
   */
  async #keep(hashes: readonly string[], results: readonly JobResult[]): Promise<KeptResults> {
    const { store, space, requests } = this.#fill;
    const given = results.filter((result) => result !== undefined && !EmbeddingError.is(result)) as ArrayLike<number>[];
    const stop = otherLength(given, space, requests.provider);
    if (stop) return { stored: 0, missing: hashes, reason: stop.reason, stop };
    const refused: { hash: string; reason: string }[] = [];
    const missing: string[] = [];
    let stored = 0;
    let reason: string | undefined;
    const entryOf = (hash: string, result: JobResult): { hash: string; vector: Float32Array }[] => {
      try {
        if (EmbeddingError.is(result)) throw result;
        if (result !== undefined) return [{ hash, vector: requests.unit(result) }];
        missing.push(hash);
      } catch (error) {
        if (!EmbeddingError.is(error)) throw error;
        reason ??= error.message;
        if (error.kind === "input") refused.push({ hash, reason: error.message });
        else missing.push(hash);
      }
      return [];
    };
    for (let start = 0; start < hashes.length; start += writtenAtOnce) {
      const part = hashes.slice(start, start + writtenAtOnce);
      const entries = part.flatMap((hash, index) => entryOf(hash, results[start + index]));
      if (entries.length > 0) await store.putVectors(space, entries);
      stored += entries.length;
    }
    // Where no text was taken at all, the texts may not be to blame: direct calls find out.
    if (stored === 0) missing.push(...refused.splice(0).map(({ hash }) => hash));
    if (refused.length > 0) await store.quarantine(space, refused);
    return { stored, missing, reason, stop: undefined };
  }

  /** A call of the batch interface, in time and traced. Throws an `EmbeddingError`, or the reason of an abort. */
  async #ask<T>(
    method: keyof EmbeddingBatches,
    deadlineMs: number,
    call: (signal: AbortSignal) => Promise<T>,
    texts?: number,
  ): Promise<T> {
    const { signal, requests } = this.#fill;
    const { id, model } = requests.provider;
    try {
      return await traceCall(
        "provider",
        () => ({ operation: `batches.${method}`, provider: id, model, ...(texts !== undefined && { texts }) }),
        () => withDeadline({ what: `the batch interface of ${id}`, deadlineMs, signals: [signal] }, call),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw embeddingErrorOf(error, id);
    }
  }
}

interface KeptResults {
  /** Texts that have their vector now. */
  stored: number;
  missing: readonly string[];
  /** What the first text without a vector says. */
  reason: string | undefined;
  stop: FillStop | undefined;
}

function refusedBy({ circuit, provider }: Requests): FillStop {
  const state = circuit.state();
  if (!state) return { reason: `${provider.id} is being tried again just now` };
  return stopOf(new EmbeddingError(state.kind, `${state.reason}; no request is made before ${state.nextProbeAt}`));
}
