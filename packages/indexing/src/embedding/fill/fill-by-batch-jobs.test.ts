import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ProviderError, type SyncProgress } from "@memslot/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hashOf, space, texts } from "../../../test/support/space-store.ts";
import { spaceName } from "../../chunk-store.ts";
import { listBatchJobs } from "./fill-by-batch-jobs.ts";
import { batchBench, type ScriptedBatches, scriptedBatches } from "./test/batch-bench.ts";
import tables from "./test/jobs.json" with { type: "json" };
import { budgetOf, expectFilled, vectorOf } from "./test/scripted-requests.ts";

afterEach(() => void vi.useRealTimers());

describe("batch jobs", () => {
  test("make every vector, in jobs as large as allowed, so many at one time as allowed, with no direct call", async () => {
    const { store, batches, requests, run, calls, lines, stored } = await batchBench(texts(520));
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(520));
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([100, 100, 100, 100, 100, 20]);
    expect(calls("collect")).toHaveLength(6);
    expect(batches.mostRunning).toBe(2);
    expect([requests.sent, lines, stored()]).toEqual([[], [], []]);
  });

  test("are discarded when their vectors are stored, and not before", async () => {
    const { store, batches, run, calls } = await batchBench(texts(150));
    const stored: number[] = [];
    batches.beforeDiscard = () => void stored.push(store.vectors.size);
    expect(await run()).toBeUndefined();
    expect(calls("discard")).toEqual(["discard job-1", "discard job-2"]);
    expect(stored.toSorted((a, b) => a - b)).toEqual([100, 150]);
  });

  test("are polled once in each interval, with progress", async () => {
    const { batches, run, calls } = await batchBench(texts(50));
    batches.scripts = [{ polls: 10, completed: 20 }];
    const started = Date.now();
    const updates: SyncProgress[] = [];
    expect(await run({ progress: (update) => void updates.push(update) })).toBeUndefined();
    expect(calls("state")).toHaveLength(11);
    expect(Date.now() - started).toBe(11 * 2000);
    expect(updates.filter(({ completed }) => completed === 20).length).toBeGreaterThan(8);
    expect(new Set(updates.map(({ total }) => total))).toEqual(new Set([50]));
    expect(updates.at(-1)).toEqual({ completed: 50, total: 50, label: "embedding with scripted" });
  });

  test.each([
    [777, 100, 777],
    [undefined, 100, 1000],
    [undefined, 25, 250],
  ])(
    "are counted with reported tokens (%s), or with the share of %i returned vectors",
    async (says, returned, tokens) => {
      const { batches, requests, run } = await batchBench(texts(100, 40));
      batches.says = says;
      batches.scripts = [{ result: (text, index) => (index < returned ? vectorOf(text) : undefined) }];
      await run();
      expect(requests.usage).toEqual([{ reason: "test", requests: 1, tokens }]);
    },
  );

  test("are listed for their agent while they are in flight", async () => {
    const { shared, run } = await batchBench(texts(30, 100), { maxBytes: 1000 });
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 30 });
    const submittedAt = "2026-03-05T10:00:00.000Z";
    expect(listBatchJobs(shared, "main")).toEqual(["job-1", "job-2"].map((id) => ({ id, texts: 10, submittedAt })));
    expect(listBatchJobs(shared, "other")).toEqual([]);
  });

  test("are not used for a few texts", async () => {
    const { batches, requests, store, run } = await batchBench(texts(105));
    expect(await run({}, {}, 50)).toBeUndefined();
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([100]);
    expect(requests.sent.flat()).toHaveLength(5);
    expectFilled(store, texts(105));
  });

  test("without `wait` are collected by the next run", async () => {
    const { store, batches, run, calls } = await batchBench(texts(350));
    const started = Date.now();
    const left = await run({}, { wait: false });
    expect(left).toMatchObject({ chunks: 350, reason: "200 texts are in batch jobs of the provider" });
    expect([calls("submit").length, calls("state").length, Date.now() - started]).toEqual([2, 0, 0]);
    batches.set("job-1", {});
    batches.set("job-2", { polls: 100 });
    const next = await run({}, { wait: false });
    expect(next).toMatchObject({ chunks: 250, reason: "200 texts are in batch jobs of the provider" });
    expect([calls("submit").length, calls("state").length, calls("collect").length]).toEqual([3, 2, 1]);
    expect(store.vectors.size).toBe(100);
    for (const job of ["job-2", "job-3", "job-4"]) batches.set(job, {});
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 50 });
    batches.set("job-4", {});
    expect(await run({}, { wait: false })).toBeUndefined();
    expectFilled(store, texts(350));
    expect(calls("submit")).toHaveLength(4);
  });
});

describe("jobs of an earlier run", () => {
  test("are read before anything is submitted, and no text is sent twice", async () => {
    const { store, batches, requests, run, calls } = await batchBench(texts(250));
    const controller = new AbortController();
    const reason = new Error("closing");
    const progress = (): void => void (batches.jobs.size === 2 && controller.abort(reason));
    await expect(run({ signal: controller.signal, progress })).rejects.toBe(reason);
    expect(calls("submit")).toHaveLength(2);
    batches.calls.length = 0;
    await store.add(texts(30, 10, "new"));
    expect(await run()).toBeUndefined();
    expect(batches.calls.slice(0, 2)).toEqual(["state job-1", "state job-2"]);
    const sent = [...batches.jobs.values()].flat();
    expect(sent.toSorted()).toEqual([...texts(250), ...texts(30, 10, "new")].toSorted());
    expect(requests.sent).toEqual([]);
    expectFilled(store, sent);
  });

  test("of another space or agent are ignored", async () => {
    const { store, batches, shared, stored, run, calls } = await batchBench(texts(10));
    await run({}, { wait: false });
    const copy = (agentId: string, change: object): unknown =>
      shared.write((sql) => {
        const to = [agentId, spaceName({ ...space, ...change }), `foreign-${JSON.stringify(change)}`];
        return sql.run(
          "INSERT INTO jobs SELECT ?, ?, ?, hashes, tokens, failures, submittedAt FROM jobs LIMIT 1",
          ...to,
        );
      });
    copy("other", {});
    for (const change of [{ model: "m2" }, { dimensions: 9 }, { providerKey: "k" }]) copy("main", change);
    batches.calls.length = 0;
    expect(await run()).toBeUndefined();
    expect(calls("state").filter((call) => call.includes("foreign"))).toEqual([]);
    expect(stored()).toHaveLength(3);
    expectFilled(store, texts(10));
  });

  test("that the provider does not know are dropped, and their texts sent again", async () => {
    const first = await batchBench(texts(10));
    await first.run({}, { wait: false });
    const { calls } = (first.batches = scriptedBatches());
    expect(await first.run()).toBeUndefined();
    expect(calls).toEqual(tables.callsOfForgetful);
    expect([first.stored(), first.lines, first.requests.sent]).toEqual([[], [], []]);
    expectFilled(first.store, texts(10));
  });

  test.each([2000, 61_000])(
    "that cannot be stored are finished and counted (%i ms, then the file is free)",
    async (ms) => {
      const { stateDir, store, lines, requests, run } = await batchBench(texts(10));
      const notices: string[] = [];
      writeFileSync(path.join(stateDir, "embeddings"), "in the way");
      lines.push = (line) => (rmSync(path.join(stateDir, "embeddings")), notices.push(line));
      expect(await run({}, { pollIntervalMs: ms })).toBeUndefined();
      expectFilled(store, texts(10));
      expect(notices).toEqual([expect.stringMatching(/^the batch job job-1 cannot be stored.*cannot be used/)]);
      expect(requests.usage).toHaveLength(1);
    },
  );
});

const minute = 60_000;
const nothing = (): undefined => undefined;
const busy = new ProviderError("transient", "scripted answered 503");

const half = (text: string, index: number): Float32Array | undefined => (index < 50 ? vectorOf(text) : undefined);
const failed = { state: { state: "failed", reason: "the file is bad" }, result: nothing } as const;
const expired = { state: { state: "expired", reason: "the file is bad" } } as const;
const uncollected = { state: failed.state, collectErrors: [new ProviderError("auth", "no such file")] };
const unknown = { state: { state: "unknown", reason: "no such job" } } as const;

interface Row {
  name: string;
  /** One hundred texts if left out. */
  count?: number;
  scripts: ScriptedBatches["scripts"];
  settings?: { concurrency?: number };
  submits: number;
  /** How many texts are sent in direct calls. */
  direct: number;
  /** One notice: direct calls make the vectors. */
  isReported?: boolean;
}

test.each<Row>([
  {
    name: "failed and missing texts of a job are made by direct calls, and only those",
    scripts: [{ result: (text, index) => (index % 10 === 0 ? busy : index % 10 === 1 ? undefined : vectorOf(text)) }],
    submits: 1,
    direct: 20,
  },
  {
    name: "bad vectors of a job are made by direct calls",
    scripts: [{ result: (text, index) => (index === 3 ? Float32Array.of(Number.NaN, 0, 0, 0) : vectorOf(text)) }],
    submits: 1,
    direct: 1,
  },
  {
    name: "a job that expired with half of its texts done is no failed job",
    count: 300,
    scripts: [1, 2, 3].map(() => ({ ...expired, result: half })),
    submits: 3,
    direct: 150,
  },
  ...[failed, { ...expired, result: nothing }, uncollected, busy].map((script, index) => ({
    name: `two jobs that fail leave the rest to direct calls (${index})`,
    count: 120,
    scripts: [script, script, script, script],
    settings: { concurrency: 1 },
    submits: 2,
    direct: 120,
    isReported: true,
  })),
  { name: "a job that fails once is tried again", scripts: [failed, { polls: 1 }], submits: 2, direct: 0 },
  { name: "a job is submitted again after a failure", scripts: [busy, { polls: 1 }], submits: 2, direct: 0 },
  {
    name: "jobs that all fail at one time are reported once",
    count: 400,
    scripts: [failed, failed, failed, failed],
    settings: { concurrency: 4 },
    submits: 4,
    direct: 400,
    isReported: true,
  },
  {
    name: "a job with every text refused leaves it to direct calls to find out why",
    scripts: [{ result: () => new ProviderError("input", "dimensions: 9 is not allowed") }],
    submits: 1,
    direct: 100,
  },
  {
    name: "jobs that are unknown right after they were submitted count as failed",
    scripts: [unknown, unknown, unknown],
    submits: 2,
    direct: 100,
    isReported: true,
  },
  ...(["auth", "quota"] as const).map((kind) => ({
    name: `a submission that is refused with ${kind} leaves the judgement to a direct call`,
    scripts: [new ProviderError(kind, "missing scope: files.write")],
    submits: 1,
    direct: 100,
    isReported: true,
  })),
])("$name", async ({ count = 100, scripts, settings, submits, direct, isReported = false }) => {
  const { store, batches, requests, run, calls, lines, stored } = await batchBench(texts(count));
  batches.scripts = [...scripts];
  expect(await run({}, settings)).toBeUndefined();
  expect([calls("submit").length, requests.sent.flat().length]).toEqual([submits, direct]);
  const line = /^batch jobs of scripted fail, so direct calls make the vectors: ./u;
  expect(lines).toEqual(isReported ? [expect.stringMatching(line)] : []);
  expect([stored(), store.refused.size, requests.failures]).toEqual([[], 0, []]);
  expectFilled(store, texts(count));
});

test("a text that a job refuses is quarantined, with the reason", async () => {
  const { store, batches, requests, run } = await batchBench(texts(100));
  const refusal = new ProviderError("input", "cannot be read");
  batches.scripts = [{ result: (text, index) => (index === 7 ? refusal : vectorOf(text)) }];
  expect(await run()).toBeUndefined();
  expect([...store.refused]).toEqual([[hashOf(texts(8)[7] ?? ""), "cannot be read"]]);
  expect([store.vectors.size, requests.sent]).toEqual([99, []]);
});

describe("jobs that fail", () => {
  test("by taking too long are cancelled", async () => {
    const { store, batches, requests, run, calls, lines } = await batchBench(texts(150));
    batches.scripts = [{ polls: 1e9 }, { polls: 1e9 }];
    const started = Date.now();
    expect(await run({}, { timeoutMinutes: 5 })).toBeUndefined();
    expect(calls("cancel")).toEqual(["cancel job-1", "cancel job-2"]);
    expect(Date.now() - started).toBeGreaterThan(5 * minute);
    expect(Date.now() - started).toBeLessThan(5.2 * minute);
    expect(lines).toEqual([expect.stringMatching(/was not finished after 5 minutes$/)]);
    expect(requests.sent.flat()).toHaveLength(150);
    expectFilled(store, texts(150));
  });

  test("in successive runs without `wait` are counted", async () => {
    const { store, batches, requests, run, lines } = await batchBench(texts(100));
    batches.scripts = [failed, failed];
    for (const _ of [1, 2]) expect(await run({}, { wait: false })).toMatchObject({ chunks: 100 });
    expect(lines).toEqual([]);
    expect(await run({}, { wait: false })).toBeUndefined();
    expect(batches.jobs.size).toBe(2);
    expect(lines).toHaveLength(1);
    expect(requests.sent.flat()).toHaveLength(100);
    expectFilled(store, texts(100));
  });

  test("leave the texts of running jobs out of direct calls", async () => {
    const { store, batches, requests, run } = await batchBench(texts(300));
    batches.scripts = [failed, { polls: 50 }, failed];
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 300 });
    const left = await run({}, { wait: false });
    expect(left).toMatchObject({ chunks: 300, reason: "200 texts are in batch jobs of the provider" });
    expect(await run({}, { wait: false })).toMatchObject(tables.leftWithJobs);
    expect(requests.sent.flat()).toHaveLength(200);
    const running = new Set(batches.jobs.get("job-2"));
    expect(requests.sent.flat().some((text) => running.has(text))).toBe(false);
    expect(store.vectors.size).toBe(200);
  });
});

describe("a batch interface that fails", () => {
  test("temporarily is retried, not before its Retry-After", async () => {
    const { store, batches, run, calls, lines } = await batchBench(texts(10));
    const rate = new ProviderError("rate", "slow down", { retryAfterMs: 9000 });
    batches.scripts = [{ stateErrors: [rate, busy], collectErrors: [busy] }];
    const started = Date.now();
    expect(await run()).toBeUndefined();
    // Polled after 2 seconds, then not before 11: at 12, 14 and 16.
    expect([Date.now() - started, calls("state").length, calls("collect").length]).toEqual([16_000, 4, 2]);
    expectFilled(store, texts(10));
    expect(lines).toEqual([]);
  });

  test("for one job leaves that job to a later run, and the others continue", async () => {
    const { store, batches, requests, run, stored } = await batchBench(texts(200));
    const forbidden = new ProviderError("auth", "scripted answered 403");
    batches.scripts = [{ stateErrors: [forbidden] }, { polls: 1 }];
    expect(await run()).toMatchObject(tables.notAsked);
    expect([stored().length, requests.sent]).toEqual([1, []]);
    batches.set("job-1", {});
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(200));
  });
});

describe("submitting", () => {
  test("that is rate-limited ends the run, for every process", async () => {
    const { batches, requests, run, calls, lines } = await batchBench(texts(10));
    const rate = new ProviderError("rate", "slow down", { retryAfterMs: 60_000 });
    batches.scripts = [rate];
    expect(await run()).toMatchObject({ chunks: 10, reason: "slow down", error: rate });
    expect(requests.failures).toEqual([rate]);
    expect([calls("submit").length, requests.sent, lines]).toEqual([1, [], []]);
  });

  test("does not happen while the circuit is open", async () => {
    const { batches, requests, run } = await batchBench(texts(10));
    requests.open = { ...tables.noQuota, kind: "quota" };
    expect(await run()).toMatchObject({
      chunks: 10,
      reason: expect.stringMatching(/nothing left; no request is sent before/) as string,
      error: { kind: "quota" },
    });
    expect([batches.calls, requests.sent]).toEqual([[], []]);
  });

  test("keeps within the budget, running jobs included", async () => {
    const { store, batches, requests, run } = await batchBench(texts(300, 40));
    const spent = (): number => requests.usage.reduce((sum, { tokens }) => sum + tokens, 0);
    const outcome = await run({ budget: budgetOf(() => 1505 - spent()) });
    expect(outcome).toMatchObject({
      chunks: 150,
      reason: expect.stringMatching(/^the token budget of today is spent/) as string,
    });
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([100, 50]);
    expect([spent(), store.vectors.size, requests.sent]).toEqual([1500, 150, []]);
  });
});

test("vectors of another length are not stored, and the job is over", async () => {
  const { store, batches, requests, run, stored } = await batchBench(texts(10));
  batches.scripts = [{ result: (text, index) => (index === 9 ? [1, 2, 3] : vectorOf(text)) }];
  expect(await run()).toMatchObject({
    chunks: 10,
    error: { kind: "auth" },
    reason: expect.stringMatching(/3 numbers where 4 were/) as string,
  });
  expect([store.vectors.size, stored(), requests.sent]).toEqual([0, [], []]);
});

test("an abort while the vectors of a job are stored loses none of them", async () => {
  const { store, run, stored, requests } = await batchBench(texts(600), { maxItems: 1000 });
  const controller = new AbortController();
  const reason = new Error("closing");
  store.before("putVectors", () => controller.abort(reason));
  await expect(run({ signal: controller.signal })).rejects.toBe(reason);
  expectFilled(store, texts(600));
  expect([stored(), requests.usage.length]).toEqual([[], 1]);
});

test.each(["putVectors", "quarantine"] as const)(
  "a store that fails in %s fails the run, and the job is kept",
  async (method) => {
    const { store, batches, run, stored } = await batchBench(texts(10));
    batches.scripts = [{ result: (text, index) => (index === 0 ? new ProviderError("input", "no") : vectorOf(text)) }];
    const error = new Error("disk full");
    store.before(method, () => Promise.reject(error));
    await expect(run()).rejects.toBe(error);
    expect(stored()).toHaveLength(1);
  },
);
