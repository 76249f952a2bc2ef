import { type EmbeddingBatches, EmbeddingError, type MemorySearchSettings } from "@memslot/core";
import { setTimeout as pause } from "node:timers/promises";
import { BatchCalls } from "./batch-calls.ts";
import { collectJob, type JobResult } from "./collect-job.ts";
import type { RequestFill } from "../fill/fill-by-requests.ts";
import { type FillStop, stopOf } from "../fill/fill-stop.ts";
import { type JobRecord, openJobRecords, type JobRecords } from "./job-records.ts";
import { type PackedText, tokensOf } from "../requests/pack.ts";
import { createPendingQueue, type PendingQueue } from "../fill/pending-queue.ts";
import type { Requests } from "../requests/requests.ts";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";

export interface BatchRunOptions {
  batches: EmbeddingBatches;
  settings: MemorySearchSettings["remote"]["batch"];
  stateDir: string;
  agentId: string;
  requests: Requests;
  notify: (line: string) => void;
  /** A job for fewer texts is not worth the waiting: direct calls make their vectors. 1 if left out. */
  minTexts?: number | undefined;
  now?: (() => Date) | undefined;
  /** Rejects when the signal is aborted. */
  sleep?: ((milliseconds: number, signal: AbortSignal) => Promise<void>) | undefined;
}

type BatchFill = Omit<RequestFill, "requests" | "concurrency" | "accept">;

interface BatchOutcome {
  /** Why nothing more may be sent. */
  stop: FillStop | undefined;
  /** Set where texts are still on the other side. */
  waiting: FillStop | undefined;
  /** Which of the pending texts direct calls have to make; undefined: none. */
  direct: ((hash: string) => boolean) | undefined;
}

const minuteMs = 60_000;
/** No provider works on a job for longer. */
const longestJobMs = 48 * 60 * minuteMs;
/** With so many failed jobs the rest is made by direct calls. */
const mostFailures = 2;

/**
 * Makes missing vectors through the batch interface of a provider. Throws the reason of an abort, and what the store throws;
 * jobs on their way are found again by the next run.
 */
export async function runBatch(options: BatchRunOptions, fill: BatchFill): Promise<BatchOutcome> {
  return await new JobRun(options, fill).run();
}

class JobRun {
  readonly #options: BatchRunOptions;
  readonly #fill: BatchFill;
  readonly #now: () => Date;
  readonly #startedAt: number;
  readonly #calls: BatchCalls;
  readonly #jobs: JobTable;
  readonly #queue: PendingQueue;
  /** Hashes of texts that direct calls have to make. */
  readonly #direct = new Set<string>();
  /** Direct calls have to make all. */
  #isDirect = false;
  #failures = 0;
  #quietUntil = 0;
  #stop: FillStop | undefined;

  constructor(options: BatchRunOptions, fill: BatchFill) {
    const { batches, now = () => new Date() } = options;
    const { store, space, signal } = fill;
    const { provider } = options.requests;
    this.#options = options;
    this.#fill = fill;
    this.#now = now;
    this.#startedAt = now().getTime();
    this.#calls = new BatchCalls(batches, provider, signal);
    this.#jobs = new JobTable(openJobRecords(options), space);
    this.#queue = createPendingQueue({
      store,
      space,
      provider,
      pageSize: Math.min(batches.maxItems, 16_384),
      accept: (hash) => !this.#jobs.holds(hash) && !this.#direct.has(hash),
    });
  }

  async run(): Promise<BatchOutcome> {
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
    const some = this.#direct.size > 0 ? (hash: string) => this.#direct.has(hash) : undefined;
    return {
      stop: this.#stop,
      waiting: this.#jobs.waiting(),
      direct: this.#isDirect ? (hash) => !this.#jobs.holds(hash) : some,
    };
  }

  async #rest(): Promise<void> {
    const { settings, sleep = pauseFor } = this.#options;
    const { signal } = this.#fill;
    try {
      await sleep(settings.pollIntervalMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  #useDirectCalls(why: string): void {
    if (this.#isDirect) return;
    this.#isDirect = true;
    const { notify, requests } = this.#options;
    notify(`batch jobs of ${requests.provider.id} do not work now, so that direct calls make the vectors: ${why}`);
  }

  #countFailure(why: string, before = 0): void {
    this.#failures = Math.max(this.#failures, before) + 1;
    if (this.#failures >= mostFailures) this.#useDirectCalls(why);
  }

  async #submitPending(): Promise<void> {
    const { batches, requests, minTexts = 1 } = this.#options;
    const { budget, signal, asked } = this.#fill;
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
    const { agentId, requests } = this.#options;
    const hashes = texts.map(({ hash }) => hash);
    let job: string;
    try {
      job = await this.#calls.submit(texts.map(({ text }) => text));
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      this.#queue.giveAgain(hashes);
      return await this.#submitFailed(error);
    }
    requests.circuit.succeed();
    const submittedAt = this.#now().toISOString();
    const tokens = Math.ceil(tokensOf(texts));
    this.#jobs.add({ job, agentId, space: this.#fill.space, hashes, tokens, failures: this.#failures, submittedAt });
  }

  async #submitFailed(error: EmbeddingError): Promise<void> {
    if (error.kind === "rate") {
      this.#options.requests.circuit.fail(error);
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
    try {
      const state = await this.#calls.state(record.job);
      if (state.state === "unknown") {
        const isOwn = this.#jobs.isOwn(record);
        this.#jobs.remove(record);
        this.#queue.giveAgain(record.hashes);
        if (isOwn) this.#countFailure(state.reason);
      } else if (state.state !== "running") {
        await this.#collect(record, state.state, state.state === "done" ? undefined : state.reason);
      } else if (this.#isOverdue(record)) {
        await this.#calls.cancel(record.job);
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
    const { requests } = this.#options;
    const { store, space, progress } = this.#fill;
    const { job, hashes } = record;
    let said: number | undefined;
    let results: JobResult[] = [];
    try {
      results = await this.#calls.collect(job, hashes.length, ({ tokens }) => void (said = (said ?? 0) + tokens));
    } catch (error) {
      const mayComeYet = EmbeddingError.is(error, "transient") || EmbeddingError.is(error, "rate");
      // A job that failed may have nothing to be collected.
      if (!EmbeddingError.is(error) || state === "done" || mayComeYet) throw error;
    }
    const outcome = await collectJob({ hashes, results, store, space, requests });
    const { stored, quarantined, missing, reason } = outcome;
    const isFirst = this.#jobs.remove(record);
    const tokens = Math.ceil(said ?? (record.tokens * stored) / hashes.length);
    if (isFirst && tokens > 0) requests.spent({ reason: this.#fill.reason, requests: 1, tokens });
    await this.#calls.discard(job);
    const missed = new Set(missing);
    this.#queue.settle(hashes.filter((hash) => !missed.has(hash)));
    progress.elsewhere(this.#jobs.completed());
    progress.add(stored + quarantined);
    this.#stop ??= outcome.stop;
    if (outcome.stop) return;
    if (stored === 0 && state !== "done") this.#queue.giveAgain(missing);
    else for (const hash of missing) this.#direct.add(hash);
    if (state === "failed" || stored === 0)
      this.#countFailure(why ?? reason ?? `the job ${job} gave no vectors`, record.failures);
  }
}

function refusedBy({ circuit, provider }: Requests): FillStop {
  const state = circuit.state();
  if (!state) return { reason: `${provider.id} is being tried again just now` };
  return stopOf(new EmbeddingError(state.kind, `${state.reason}; no request is made before ${state.nextProbeAt}`));
}

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal });
}

/** The batch jobs of one space that are on their way, as one run sees them. Begins with those that earlier runs have left. */
class JobTable {
  readonly #records: JobRecords;
  readonly #running = new Map<JobRecord, { completed: number; isOwn: boolean }>();
  readonly #aside = new Map<JobRecord, EmbeddingError>();
  readonly #away = new Set<string>();

  constructor(records: JobRecords, space: VectorSpace) {
    this.#records = records;
    for (const record of records.list()) if (spaceName(record.space) === spaceName(space)) this.#keep(record, false);
  }

  /** The jobs to ask about. */
  running(): JobRecord[] {
    return [...this.#running.keys()];
  }

  /** A job that this run has submitted. */
  add(record: JobRecord): void {
    this.#keep(record, true);
    this.#records.write(record);
  }

  /** True for a job of this run: the other side has to know it. */
  isOwn(record: JobRecord): boolean {
    return this.#running.get(record)?.isOwn ?? false;
  }

  /** The other side has done so many texts of it. */
  advance(record: JobRecord, completed: number): void {
    const job = this.#running.get(record);
    if (job) job.completed = completed;
  }

  /** It cannot be asked about now; a later run tries again. */
  setAside(record: JobRecord, error: EmbeddingError): void {
    this.#running.delete(record);
    this.#aside.set(record, error);
  }

  /** It is over. False where another process has ended it already. */
  remove(record: JobRecord): boolean {
    this.#running.delete(record);
    for (const hash of record.hashes) this.#away.delete(hash);
    return this.#records.remove(record);
  }

  /** Whether a text is on the other side. */
  holds(hash: string): boolean {
    return this.#away.has(hash);
  }

  /** Estimated tokens of all of them. */
  tokens(): number {
    return sumOf([...this.#running.keys(), ...this.#aside.keys()], ({ tokens }) => tokens);
  }

  /** Texts that are done on the other side. */
  completed(): number {
    return sumOf([...this.#running.values()], ({ completed }) => completed);
  }

  /** Why texts are still without a vector; undefined where no job is left. */
  waiting(): FillStop | undefined {
    const texts = sumOf([...this.#running.keys(), ...this.#aside.keys()], ({ hashes }) => hashes.length);
    if (texts === 0) return undefined;
    const [error] = this.#aside.values();
    const why = error ? `, which cannot be asked about all of them now: ${error.message}` : "";
    return { reason: `${texts} ${texts === 1 ? "text is" : "texts are"} with the provider's batch interface${why}` };
  }

  #keep(record: JobRecord, isOwn: boolean): void {
    this.#running.set(record, { completed: 0, isOwn });
    for (const hash of record.hashes) this.#away.add(hash);
  }
}

function sumOf<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}
