import {
  type EmbeddingBatches,
  ProviderError,
  type EmbeddingStatus,
  type MemorySearchSettings,
  withDeadline,
} from "@memslot/core";
import { embeddingErrorOf, sentence, traceCall } from "@memslot/core/host";
import { spaceName } from "../../chunk-store.ts";
import { openError, type Pass, pause } from "../requests/circuit-breaker.ts";
import { type PackedText, tokensOf } from "../requests/pack.ts";
import type { SharedState } from "../requests/shared-state.ts";
import { unitVector } from "../requests/unit-vector.ts";
import { fillByRequests, type RequestFill } from "./fill-by-requests.ts";
import { type FillStop, otherLength, PendingQueue, stopOf } from "./pending.ts";

export type JobResult = ArrayLike<number> | ProviderError | undefined;

export interface BatchOptions {
  batches: EmbeddingBatches;
  settings: MemorySearchSettings["remote"]["batch"];
  shared: SharedState;
  agentId: string;
  notify: (line: string) => void;
  /** Direct calls make the vectors of fewer texts. */
  minTexts: number;
}

interface Job {
  job: string;
  /** In the order of its texts. */
  hashes: readonly string[];
  tokens: number;
  failures: number;
  /** ISO 8601. */
  submittedAt: string;
  completed: number;
  /** Submitted by this run: the provider has to know it. */
  isOwn: boolean;
  /** Its row could not be stored: no other process knows it. */
  isUnstored?: boolean;
  /** Why its state cannot be read in this run. */
  error?: ProviderError;
}

const minuteMs = 60_000;
/** No provider works on a job for longer. */
const longestJobMs = 48 * 60 * minuteMs;
/** Then direct calls make the rest. */
const mostFailures = 2;
const shortCallMs = minuteMs;
const longCallMs = 5 * minuteMs;
const writtenAtOnce = 256;

/** Makes missing vectors by resumable batch jobs, the rest by direct calls. Returns why it ended early. */
export async function fillByJobs(options: BatchOptions, fill: RequestFill): Promise<FillStop | undefined> {
  return await new JobRun(options, fill).run();
}

export function listBatchJobs(shared: SharedState, agentId: string): NonNullable<EmbeddingStatus["jobs"]> {
  const rows = `SELECT job AS id, json_array_length(hashes) AS texts, submittedAt FROM jobs
    WHERE agentId = ? ORDER BY submittedAt, job`;
  return shared.read((sql) => sql.all(rows, agentId));
}

class JobRun {
  readonly #options: BatchOptions;
  readonly #fill: RequestFill;
  readonly #startedAt = Date.now();
  readonly #space: string;
  readonly #jobs = new Set<Job>();
  readonly #hashesInJobs = new Set<string>();
  readonly #queue: PendingQueue;
  /** Hashes of texts for direct calls. */
  readonly #direct = new Set<string>();
  /** All texts are for direct calls. */
  #isDirect = false;
  #failures = 0;
  #quietUntil = 0;
  #stop: FillStop | undefined;

  constructor(options: BatchOptions, fill: RequestFill) {
    const { batches } = options;
    const { store, space, requests } = fill;
    this.#options = options;
    this.#fill = fill;
    this.#space = spaceName(space);
    this.#readJobs();
    this.#queue = new PendingQueue({
      store,
      space,
      provider: requests.provider,
      pageSize: Math.min(batches.maxItems, 16_384),
      accept: (hash) => !this.#hashesInJobs.has(hash) && !this.#direct.has(hash),
    });
  }

  async run(): Promise<FillStop | undefined> {
    const { progress } = this.#fill;
    await this.#checkAll();
    for (;;) {
      await this.#submitPending();
      if (this.#running().length === 0 || !this.#options.settings.wait) break;
      progress.elsewhere(this.#completed());
      await this.#wait();
      await this.#checkAll();
    }
    progress.elsewhere(0);
    if (this.#stop) return this.#stop;
    const waiting = this.#waiting();
    if (!this.#isDirect && this.#direct.size === 0) return waiting;
    const accept = (hash: string): boolean => (this.#isDirect ? !this.#hashesInJobs.has(hash) : this.#direct.has(hash));
    return (await fillByRequests({ ...this.#fill, accept })) ?? waiting;
  }

  async #wait(): Promise<void> {
    await pause(this.#options.settings.pollIntervalMs, this.#fill.signal);
  }

  #useDirectCalls(why: string): void {
    if (this.#isDirect) return;
    this.#isDirect = true;
    const { id } = this.#fill.requests.provider;
    this.#options.notify(`batch jobs of ${id} fail, so direct calls make the vectors: ${why}`);
  }

  #countFailure(why: string, before = 0): void {
    this.#failures = Math.max(this.#failures, before) + 1;
    if (this.#failures >= mostFailures) this.#useDirectCalls(why);
  }

  async #submitPending(): Promise<void> {
    const { batches, minTexts, settings } = this.#options;
    const { requests, budget, signal, asked } = this.#fill;
    while (!this.#isDirect && !this.#stop && this.#running().length < settings.concurrency) {
      const inJobs = sumOf(this.#jobs, ({ tokens }) => tokens);
      const tokens = budget ? budget.left() - inJobs : Number.POSITIVE_INFINITY;
      const texts = await this.#queue.take({ items: batches.maxItems, bytes: batches.maxBytes, tokens });
      signal.throwIfAborted();
      if (texts.length === 0) return;
      if (budget && tokensOf(texts) > tokens) this.#stop = budget.reason();
      else if (texts.length < minTexts) for (const { hash } of texts) this.#direct.add(hash);
      else {
        const pass = requests.circuit.enter(asked);
        if (pass) await this.#submit(texts, pass);
        else this.#stop = this.#refused();
      }
    }
  }

  async #submit(texts: readonly PackedText[], pass: Pass): Promise<void> {
    const { batches } = this.#options;
    const hashes = texts.map(({ hash }) => hash);
    const sent = texts.map(({ text }) => text);
    try {
      const job = await this.#call("submit", longCallMs, (signal) => batches.submit(sent, { signal }), sent.length);
      pass.end("answered");
      const tokens = Math.ceil(tokensOf(texts));
      this.#add({ job, hashes, tokens, failures: this.#failures, submittedAt: new Date().toISOString() });
    } catch (error) {
      if (!ProviderError.is(error)) throw error;
      this.#queue.putBack(hashes);
      if (error.kind === "rate") {
        pass.end(error);
        this.#stop = stopOf(error);
      } else if (error.kind === "quota" || error.kind === "auth") {
        // A key may be allowed to embed and not to store files: a direct call shows whether it is refused.
        this.#useDirectCalls(error.message);
      } else {
        this.#countFailure(error.message);
        if (!this.#isDirect) await this.#wait();
      }
    } finally {
      pass.end();
    }
  }

  async #checkAll(): Promise<void> {
    for (const job of this.#running()) {
      if (Date.now() < this.#quietUntil) return;
      await this.#check(job);
    }
  }

  async #check(job: Job): Promise<void> {
    const { batches } = this.#options;
    try {
      const state = await this.#call("state", shortCallMs, (signal) => batches.state(job.job, { signal }));
      if (state.state === "unknown") {
        this.#remove(job);
        this.#queue.putBack(job.hashes);
        if (job.isOwn) this.#countFailure(state.reason);
      } else if (state.state !== "running") {
        await this.#collect(job, state.state, state.state === "done" ? undefined : state.reason);
      } else if (this.#isOverdue(job)) {
        await this.#call("cancel", shortCallMs, (signal) => batches.cancel(job.job, { signal })).catch(() =>
          this.#fill.signal.throwIfAborted(),
        );
        this.#dropOverdue(job);
      } else job.completed = state.completed ?? 0;
    } catch (error) {
      if (!ProviderError.is(error)) throw error;
      if (this.#isOverdue(job)) this.#dropOverdue(job);
      else if (error.kind !== "transient" && error.kind !== "rate") Object.assign(job, { error, completed: 0 });
      else this.#quietUntil = Math.max(this.#quietUntil, Date.now() + (error.retryAfterMs ?? 0));
    }
  }

  /** A job that an earlier run submitted has its full time in this one. */
  #isOverdue({ submittedAt }: Job): boolean {
    const { wait, timeoutMinutes } = this.#options.settings;
    const ageMs = Date.now() - Date.parse(submittedAt);
    const waitedMs = Math.min(ageMs, Date.now() - this.#startedAt);
    return ageMs > longestJobMs || (wait && waitedMs > timeoutMinutes * minuteMs);
  }

  #dropOverdue(job: Job): void {
    this.#remove(job);
    this.#queue.putBack(job.hashes);
    const minutes = Math.round((Date.now() - Date.parse(job.submittedAt)) / minuteMs);
    this.#countFailure(`the job ${job.job} was not finished after ${minutes} minutes`, job.failures);
  }

  async #collect(job: Job, state: "done" | "failed" | "expired", why: string | undefined): Promise<void> {
    const { batches } = this.#options;
    const { requests, progress, reason } = this.#fill;
    const { hashes } = job;
    const count = hashes.length;
    let reported: number | undefined;
    const onUsage = ({ tokens }: { tokens: number }): void => void (reported = (reported ?? 0) + tokens);
    let results: JobResult[] = [];
    try {
      results = await this.#call("collect", longCallMs, (signal) =>
        batches.collect(job.job, { count, signal, onUsage }),
      );
    } catch (error) {
      const mayComeYet = ProviderError.is(error, "transient") || ProviderError.is(error, "rate");
      if (!ProviderError.is(error) || state === "done" || mayComeYet) throw error;
    }
    const kept = await this.#keep(hashes, results);
    const isFirst = this.#remove(job);
    const tokens = Math.ceil(reported ?? (job.tokens * kept.stored) / count);
    if (isFirst && tokens > 0) requests.spent({ reason, requests: 1, tokens });
    const discard = async (signal: AbortSignal): Promise<void> => batches.discard?.(job.job, { signal });
    await this.#call("discard", shortCallMs, discard).catch(() => undefined);
    const missing = new Set(kept.missing);
    this.#queue.settle(hashes.filter((hash) => !missing.has(hash)));
    progress.elsewhere(this.#completed());
    progress.add(count - kept.missing.length);
    this.#stop ??= kept.stop;
    if (kept.stop) return;
    if (kept.stored === 0 && state !== "done") this.#queue.putBack(missing);
    else for (const hash of missing) this.#direct.add(hash);
    if (state === "failed" || kept.stored === 0)
      this.#countFailure(why ?? kept.reason ?? `the job ${job.job} returned no vectors`, job.failures);
  }

  /** Stores the results of a job, also after an abort: they are paid for. */
  async #keep(
    hashes: readonly string[],
    results: readonly JobResult[],
  ): Promise<{ stored: number; missing: readonly string[]; reason?: string | undefined; stop?: FillStop }> {
    const { store, space, requests } = this.#fill;
    const vectors = results.filter(
      (result) => result !== undefined && !ProviderError.is(result),
    ) as ArrayLike<number>[];
    const stop = otherLength(vectors, space, requests.provider);
    if (stop) return { stored: 0, missing: hashes, reason: stop.reason, stop };
    const refused: { hash: string; reason: string }[] = [];
    const missing: string[] = [];
    let stored = 0;
    let reason: string | undefined;
    const entryOf = (hash: string, result: JobResult): { hash: string; vector: Float32Array }[] => {
      try {
        if (ProviderError.is(result)) throw result;
        if (result !== undefined) return [{ hash, vector: unitVector(result, requests.provider) }];
        missing.push(hash);
      } catch (error) {
        if (!ProviderError.is(error)) throw error;
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
    // If all texts are refused, they may not be to blame: direct calls find out.
    if (stored === 0) missing.push(...refused.splice(0).map(({ hash }) => hash));
    if (refused.length > 0) await store.quarantine(space, refused);
    return { stored, missing, reason };
  }

  async #call<T>(
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

  #refused(): FillStop {
    const { circuit, provider } = this.#fill.requests;
    const state = circuit.state();
    return state ? stopOf(openError(state)) : sentence("provider.probe", { provider: provider.id });
  }

  #readJobs(): void {
    const rows = `SELECT job, hashes, tokens, failures, submittedAt FROM jobs
      WHERE agentId = ? AND space = ? ORDER BY submittedAt, job`;
    const { shared, agentId } = this.#options;
    for (const row of shared.read((sql) =>
      sql.all<Omit<Job, "hashes"> & { hashes: string }>(rows, agentId, this.#space),
    ))
      this.#track({ ...row, hashes: JSON.parse(row.hashes) as string[], completed: 0, isOwn: false });
  }

  #add(submitted: Omit<Job, "completed" | "isOwn" | "isUnstored">): void {
    const { shared, agentId, notify } = this.#options;
    const { job, hashes, tokens, failures, submittedAt } = submitted;
    const values = [agentId, this.#space, job, JSON.stringify(hashes), tokens, failures, submittedAt];
    const row = "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)";
    const isUnstored = shared.store((sql) => sql.run(row, ...values)) === undefined;
    this.#track({ ...submitted, completed: 0, isOwn: true, isUnstored });
    if (isUnstored)
      notify(`the batch job ${job} cannot be stored, so its texts are sent again after a restart: ${shared.fault()}`);
  }

  #track(job: Job): void {
    this.#jobs.add(job);
    for (const hash of job.hashes) this.#hashesInJobs.add(hash);
  }

  /** Returns false if another process has removed it already. */
  #remove(job: Job): boolean {
    const { shared, agentId } = this.#options;
    this.#jobs.delete(job);
    for (const hash of job.hashes) this.#hashesInJobs.delete(hash);
    if (job.isUnstored === true) return true;
    const row = "DELETE FROM jobs WHERE agentId = ? AND space = ? AND job = ?";
    return shared.store((sql) => sql.run(row, agentId, this.#space, job.job))?.result.changes !== 0;
  }

  #running(): Job[] {
    return [...this.#jobs].filter(({ error }) => error === undefined);
  }

  #completed(): number {
    return sumOf(this.#jobs, ({ completed }) => completed);
  }

  #waiting(): FillStop | undefined {
    const texts = sumOf(this.#jobs, ({ hashes }) => hashes.length);
    if (texts === 0) return undefined;
    const error = [...this.#jobs].find((job) => job.error)?.error;
    const more = error ? sentence("vectors.jobsUnread", { error: error.message }) : "";
    return sentence("vectors.inJobs", { count: texts, more });
  }
}

function sumOf(jobs: Iterable<Job>, count: (job: Job) => number): number {
  return [...jobs].reduce((sum, job) => sum + count(job), 0);
}
