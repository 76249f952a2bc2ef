import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { type BatchRunOptions, createBatchRun } from "../batch-jobs.ts";
import type { FillOptions, FillOutcome } from "../../fill/fill.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { fillWith } from "../../requests/test/fill-with.ts";
import { type ScriptedBatches, scriptedBatches } from "./scripted-batches.ts";
import { type ScriptedRequests, scriptedRequests } from "../../requests/test/scripted-requests.ts";
import { createSpaceStore, type SpaceStore } from "../../../../test/support/space-store.ts";

export interface BatchBench {
  store: SpaceStore;
  batches: ScriptedBatches;
  requests: ScriptedRequests;
  stateDir: string;
  /** What the user was told. */
  lines: string[];
  /** Milliseconds; it goes on while a run sleeps. */
  clock: { time: number };
  run(
    change?: Partial<FillOptions>,
    settings?: Partial<BatchRunOptions["settings"]>,
    minTexts?: number,
  ): Promise<FillOutcome | undefined>;
  /** The calls of the batch interface that begin so. */
  calls(verb: string): string[];
  /** The records of jobs on disk. */
  files(): string[];
}

/** What a test of batch jobs needs, with a state folder that is deleted after the test. */
export async function batchBench(
  given: readonly string[],
  limits: { maxItems?: number; maxBytes?: number } = {},
): Promise<BatchBench> {
  const stateDir = tempFolder();
  const store = await createSpaceStore(given);
  const batches = scriptedBatches(limits);
  const requests = scriptedRequests();
  const lines: string[] = [];
  const jobs = path.join(stateDir, "embeddings", "jobs");
  const clock = { time: Date.parse("2026-03-05T10:00:00Z") };
  return {
    store,
    batches,
    requests,
    stateDir,
    lines,
    clock,
    async run(change, settings, minTexts) {
      const batch = createBatchRun({
        batches,
        settings: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60, ...settings },
        stateDir,
        agentId: "main",
        requests,
        notify: (line) => void lines.push(line),
        minTexts,
        now: () => new Date(clock.time),
        sleep: async (milliseconds, signal) => {
          signal.throwIfAborted();
          clock.time += milliseconds;
        },
      });
      return await fillWith(store, requests, { batch, ...change });
    },
    calls: (verb) => batches.calls.filter((call) => call.startsWith(verb)),
    files: () => (existsSync(jobs) ? readdirSync(jobs) : []),
  };
}
