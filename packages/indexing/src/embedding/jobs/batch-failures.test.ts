import { EmbeddingError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { batchBench } from "./test/batch-bench.ts";
import { budgetOf } from "../requests/test/scripted-requests.ts";
import type { ScriptedBatches } from "./test/batch-bench.ts";
import { expectFilled } from "../requests/test/scripted-requests.ts";
import { vectorOf } from "../requests/test/scripted-requests.ts";
import { hashOf, texts } from "../../../test/support/space-store.ts";
import tables from "./test/jobs.json" with { type: "json" };

const minute = 60_000;
const nothing = (): undefined => undefined;
const busy = new EmbeddingError("transient", "scripted answered 503");

const half = (text: string, index: number): Float32Array | undefined => (index < 50 ? vectorOf(text) : undefined);
const failed = { state: { state: "failed", reason: "the file is bad" }, result: nothing } as const;
const expired = { state: { state: "expired", reason: "the file is bad" } } as const;
const uncollected = { state: failed.state, collectErrors: [new EmbeddingError("auth", "no such file")] };
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
  /** The user is told once that direct calls make the vectors. */
  told?: boolean;
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
    told: true,
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
    told: true,
  },
  {
    name: "a job with every text refused leaves it to direct calls to find out why",
    scripts: [{ result: () => new EmbeddingError("input", "dimensions: 9 is not allowed") }],
    submits: 1,
    direct: 100,
  },
  {
    name: "jobs that are unknown right after they were submitted count as failed",
    scripts: [unknown, unknown, unknown],
    submits: 2,
    direct: 100,
    told: true,
  },
  ...(["auth", "quota"] as const).map((kind) => ({
    name: `a submission that is refused with ${kind} leaves the judgement to a direct call`,
    scripts: [new EmbeddingError(kind, "missing scope: files.write")],
    submits: 1,
    direct: 100,
    told: true,
  })),
])("$name", async ({ count = 100, scripts, settings, submits, direct, told = false }) => {
  const { store, batches, requests, run, calls, lines, files } = await batchBench(texts(count));
  batches.scripts = [...scripts];
  expect(await run({}, settings)).toBeUndefined();
  expect([calls("submit").length, requests.sent.flat().length]).toEqual([submits, direct]);
  const line = /^batch jobs of scripted do not work now, so that direct calls make the vectors: ./u;
  expect(lines).toEqual(told ? [expect.stringMatching(line)] : []);
  expect([files(), store.refused.size, requests.failures]).toEqual([[], 0, []]);
  expectFilled(store, texts(count));
});

test("a text that a job refuses is quarantined, with the reason", async () => {
  const { store, batches, requests, run } = await batchBench(texts(100));
  const refusal = new EmbeddingError("input", "cannot be read");
  batches.scripts = [{ result: (text, index) => (index === 7 ? refusal : vectorOf(text)) }];
  expect(await run()).toBeUndefined();
  expect([...store.refused]).toEqual([[hashOf(texts(8)[7] ?? ""), "cannot be read"]]);
  expect([store.vectors.size, requests.sent]).toEqual([99, []]);
});

test("a job is counted by the share of its texts that is there, where it reports no tokens", async () => {
  const { batches, requests, run } = await batchBench(texts(100, 40));
  batches.scripts = [{ result: (text, index) => (index < 25 ? vectorOf(text) : undefined) }];
  await run();
  expect(requests.usage).toEqual([{ reason: "test", requests: 1, tokens: 250 }]);
});

describe("jobs that fail", () => {
  test("by taking too long are cancelled", async () => {
    const { store, batches, clock, requests, run, calls, lines } = await batchBench(texts(150));
    batches.scripts = [{ polls: 1e9 }, { polls: 1e9 }];
    const started = clock.time;
    expect(await run({}, { timeoutMinutes: 5 })).toBeUndefined();
    expect(calls("cancel")).toEqual(["cancel job-1", "cancel job-2"]);
    expect(clock.time - started).toBeGreaterThan(5 * minute);
    expect(clock.time - started).toBeLessThan(5.2 * minute);
    expect(lines).toEqual([expect.stringMatching(/was not finished after 5 minutes$/)]);
    expect(requests.sent.flat()).toHaveLength(150);
    expectFilled(store, texts(150));
  });

  test("in one run after the other are counted too, where nobody waits", async () => {
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

  test("leave jobs that are still running alone when direct calls begin", async () => {
    const { store, batches, requests, run } = await batchBench(texts(300));
    batches.scripts = [failed, { polls: 50 }, failed];
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 300 });
    const left = await run({}, { wait: false });
    expect(left).toMatchObject({ chunks: 300, reason: "200 texts are with the provider's batch interface" });
    expect(await run({}, { wait: false })).toMatchObject(tables.leftWithJobs);
    expect(requests.sent.flat()).toHaveLength(200);
    const running = new Set(batches.jobs.get("job-2"));
    expect(requests.sent.flat().some((text) => running.has(text))).toBe(false);
    expect(store.vectors.size).toBe(200);
  });
});

describe("a batch interface that cannot be asked", () => {
  test("for a moment is asked again, not before the time that it names", async () => {
    const { store, batches, clock, run, calls, lines } = await batchBench(texts(10));
    const rate = new EmbeddingError("rate", "slow down", { retryAfterMs: 9000 });
    batches.scripts = [{ stateErrors: [rate, busy], collectErrors: [busy] }];
    const started = clock.time;
    expect(await run()).toBeUndefined();
    // Asked after 2 seconds, which were too few: so from 11 on, at 12, 14 and 16.
    expect([clock.time - started, calls("state").length, calls("collect").length]).toEqual([16_000, 4, 2]);
    expectFilled(store, texts(10));
    expect(lines).toEqual([]);
  });

  test("about one job leaves that job to a later run, and goes on with the others", async () => {
    const { store, batches, requests, run, files } = await batchBench(texts(200));
    const forbidden = new EmbeddingError("auth", "scripted answered 403");
    batches.scripts = [{ stateErrors: [forbidden] }, { polls: 1 }];
    expect(await run()).toEqual(tables.notAsked);
    expect([files().length, requests.sent]).toEqual([1, []]);
    batches.set("job-1", {});
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(200));
  });
});

describe("submitting", () => {
  test("too often ends the run, and every process knows of it", async () => {
    const { batches, requests, run, calls, lines } = await batchBench(texts(10));
    const rate = new EmbeddingError("rate", "slow down", { retryAfterMs: 60_000 });
    batches.scripts = [rate];
    expect(await run()).toEqual({ chunks: 10, reason: "slow down", error: rate });
    expect(requests.failures).toEqual([rate]);
    expect([calls("submit").length, requests.sent, lines]).toEqual([1, [], []]);
  });

  test("is not done where the provider is to be left alone", async () => {
    const { batches, requests, run } = await batchBench(texts(10));
    requests.open = { ...tables.noQuota, kind: "quota" };
    expect(await run()).toMatchObject({
      chunks: 10,
      reason: /nothing left.*2026-03-05T11:00/,
      error: { kind: "quota" },
    });
    expect([batches.calls, requests.sent]).toEqual([[], []]);
  });

  test("keeps the budget, with what running jobs will cost", async () => {
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
  const { store, batches, requests, run, files } = await batchBench(texts(10));
  batches.scripts = [{ result: (text, index) => (index === 9 ? [1, 2, 3] : vectorOf(text)) }];
  expect(await run()).toMatchObject({
    chunks: 10,
    error: { kind: "auth" },
    reason: expect.stringMatching(/3 numbers where 4 were/) as string,
  });
  expect([store.vectors.size, files(), requests.sent]).toEqual([0, [], []]);
});

test("an abort while the vectors of a job are stored loses none of them", async () => {
  const { store, run, files, requests } = await batchBench(texts(600), { maxItems: 1000 });
  const controller = new AbortController();
  const reason = new Error("closing");
  store.before("putVectors", () => controller.abort(reason));
  await expect(run({ signal: controller.signal })).rejects.toBe(reason);
  expectFilled(store, texts(600));
  expect([files(), requests.usage.length]).toEqual([[], 1]);
});

test.each(["putVectors", "quarantine"] as const)(
  "a store that fails in %s fails the run, and the job is kept",
  async (method) => {
    const { store, batches, run, files } = await batchBench(texts(10));
    batches.scripts = [{ result: (text, index) => (index === 0 ? new EmbeddingError("input", "no") : vectorOf(text)) }];
    const error = new Error("disk full");
    store.before(method, () => Promise.reject(error));
    await expect(run()).rejects.toBe(error);
    expect(files()).toHaveLength(1);
  },
);
