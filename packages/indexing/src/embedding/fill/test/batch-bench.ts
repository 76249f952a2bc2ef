import type { EmbeddingBatches, EmbeddingJobState } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { vi } from "vitest";
import { SharedState } from "../../requests/shared-state.ts";
import { type BatchOptions, type JobResult, listBatchJobs } from "../fill-by-batch-jobs.ts";
import type { FillOptions, FillOutcome } from "../fill-missing-vectors.ts";
import { fillWith, type ScriptedRequests, scriptedRequests, vectorOf } from "./scripted-requests.ts";
import { createSpaceStore, type SpaceStore } from "../../../../test/support/space-store.ts";

export interface BatchBench {
  store: SpaceStore;
  batches: ScriptedBatches;
  requests: ScriptedRequests;
  stateDir: string;
  shared: SharedState;
  /** Notices for the user. */
  lines: string[];
  run(
    change?: Partial<FillOptions>,
    settings?: Partial<BatchOptions["settings"]>,
    minTexts?: number,
  ): Promise<FillOutcome | undefined>;
  /** The calls of the batch interface that begin so. */
  calls(verb: string): string[];
  /** The jobs that are stored. */
  stored(): string[];
}

/** The clock moves only while a run waits. */
export async function batchBench(
  given: readonly string[],
  limits: { maxItems?: number; maxBytes?: number } = {},
): Promise<BatchBench> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: new Date("2026-03-05T10:00:00Z") });
  const stateDir = tempFolder();
  const shared = new SharedState(stateDir);
  const store = await createSpaceStore(given);
  const bench: BatchBench = {
    store,
    batches: scriptedBatches(limits),
    requests: scriptedRequests(),
    stateDir,
    shared,
    lines: [],
    async run(change, settings, minTexts = 1) {
      const batch: BatchOptions = {
        batches: bench.batches,
        settings: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60, ...settings },
        shared,
        agentId: "main",
        notify: (line) => void bench.lines.push(line),
        minTexts,
      };
      return await moveClock(fillWith(store, bench.requests, { batch, ...change }));
    },
    calls: (verb) => bench.batches.calls.filter((call) => call.startsWith(verb)),
    stored: () => listBatchJobs(shared, "main").map(({ id }) => id),
  };
  return bench;
}

async function moveClock<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isOver) return await work;
    await vi.advanceTimersToNextTimerAsync();
  }
}

/** How a job goes: so many times it is still running when it is asked about, then it is in this state, or done. */
interface JobScript {
  polls?: number;
  state?: EmbeddingJobState;
  /** What the first questions about it are answered with. */
  stateErrors?: readonly Error[];
  collectErrors?: readonly Error[];
  /** What came of a text; its vector if left out. */
  result?: (text: string, index: number) => JobResult;
  /** Completed texts that a running job reports. */
  completed?: number;
}

export interface ScriptedBatches extends EmbeddingBatches {
  /** Texts of every job, by its name. */
  readonly jobs: Map<string, readonly string[]>;
  /** Every call, as `submit job-1`. */
  readonly calls: string[];
  readonly mostRunning: number;
  /**
   * How the next jobs go, in their order; an error is a submit that fails. Later ones finish at the second poll.
   */
  scripts: (JobScript | Error)[];
  /** How the jobs of this name go from now on. */
  set(job: string, script: JobScript): void;
  beforeDiscard: ((job: string) => void | Promise<void>) | undefined;
  /** Tokens that `collect` reports; none if undefined. */
  says: number | undefined;
}

/** The far end of a batch interface. */
export function scriptedBatches(change: { maxItems?: number; maxBytes?: number } = {}): ScriptedBatches {
  const scripts = new Map<string, JobScript>();
  const polls = new Map<string, number>();
  const running = new Set<string>();
  let mostRunning = 0;
  const batches: ScriptedBatches = {
    maxItems: 100,
    maxBytes: 1_000_000,
    ...change,
    jobs: new Map(),
    calls: [],
    scripts: [],
    says: undefined,
    beforeDiscard: undefined,
    get mostRunning() {
      return mostRunning;
    },
    set: (job, script) => void scripts.set(job, script),
    async submit(texts) {
      const script = batches.scripts.shift() ?? { polls: 1 };
      if (script instanceof Error) {
        batches.calls.push("submit refused");
        throw script;
      }
      const job = `job-${batches.jobs.size + 1}`;
      batches.calls.push(`submit ${job}`);
      batches.jobs.set(job, [...texts]);
      scripts.set(job, script);
      running.add(job);
      mostRunning = Math.max(mostRunning, running.size);
      return job;
    },
    async state(job) {
      batches.calls.push(`state ${job}`);
      const script = scripts.get(job);
      if (!script) return { state: "unknown", reason: `no job ${job}` };
      const count = (polls.get(job) ?? 0) + 1;
      polls.set(job, count);
      const error = script.stateErrors?.[count - 1];
      if (error) throw error;
      if (count <= (script.polls ?? 0)) return { state: "running", completed: script.completed };
      const state = script.state ?? { state: "done" };
      if (state.state !== "running") running.delete(job);
      return state;
    },
    async collect(job, { count, onUsage }) {
      batches.calls.push(`collect ${job}`);
      const { collectErrors = [], result = vectorOf } = scripts.get(job) ?? {};
      const error = collectErrors[batches.calls.filter((call) => call === `collect ${job}`).length - 1];
      if (error) throw error;
      const texts = batches.jobs.get(job) ?? [];
      if (texts.length !== count) throw new Error("another number of texts");
      if (batches.says !== undefined) onUsage?.({ tokens: batches.says });
      return texts.map(result);
    },
    async discard(job) {
      batches.calls.push(`discard ${job}`);
      await batches.beforeDiscard?.(job);
    },
    async cancel(job) {
      batches.calls.push(`cancel ${job}`);
      running.delete(job);
    },
  };
  return batches;
}
