import { EmbeddingError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { batchBench } from "./test/batch-bench.ts";
import { budgetOf } from "../requests/test/fill-with.ts";
import { expectFilled } from "../requests/test/fill-with.ts";
import { vectorOf } from "../requests/test/scripted-requests.ts";
import { hashOf, texts } from "../../../test/support/space-store.ts";

const minute = 60_000;
const nothing = (): undefined => undefined;
const busy = new EmbeddingError("transient", "scripted answered 503");

describe("a job that is done in part", () => {
  test("has its failed and missing texts made by direct calls, and only those", async () => {
    const { store, batches, requests, run, lines, files } = await batchBench(texts(100));
    batches.scripts = [
      { result: (text, index) => (index % 10 === 0 ? busy : index % 10 === 1 ? undefined : vectorOf(text)) },
    ];
    expect(await run()).toBeUndefined();
    expect(batches.jobs.size).toBe(1);
    expect(requests.sent.flat().toSorted()).toEqual(
      texts(100)
        .filter((_, index) => index % 10 < 2)
        .toSorted(),
    );
    expectFilled(store, texts(100));
    expect([lines, files()]).toEqual([[], []]);
  });

  test("has a refused text quarantined, with what was said of it", async () => {
    const { store, batches, requests, run } = await batchBench(texts(100));
    const refusal = new EmbeddingError("input", "cannot be read");
    batches.scripts = [{ result: (text, index) => (index === 7 ? refusal : vectorOf(text)) }];
    expect(await run()).toBeUndefined();
    expect([...store.refused]).toEqual([[hashOf(texts(8)[7] ?? ""), "cannot be read"]]);
    expect([store.vectors.size, requests.sent]).toEqual([99, []]);
  });

  test("because it expired is no failed job", async () => {
    const { store, batches, requests, run, lines } = await batchBench(texts(300));
    const half = (text: string, index: number): Float32Array | undefined => (index < 50 ? vectorOf(text) : undefined);
    const expired = { state: { state: "expired", reason: "not in time" }, result: half } as const;
    batches.scripts = [expired, expired, expired];
    expect(await run()).toBeUndefined();
    expect(batches.jobs.size).toBe(3);
    expect(requests.sent.flat()).toHaveLength(150);
    expectFilled(store, texts(300));
    expect(lines).toEqual([]);
  });

  test("with bad vectors has those made by direct calls", async () => {
    const { store, batches, requests, run } = await batchBench(texts(10));
    batches.scripts = [
      { result: (text, index) => (index === 3 ? Float32Array.of(Number.NaN, 0, 0, 0) : vectorOf(text)) },
    ];
    expect(await run()).toBeUndefined();
    expect(requests.sent).toEqual([[texts(4)[3]]]);
    expectFilled(store, texts(10));
  });

  test("is counted by the share that is there, where no tokens are said", async () => {
    const { batches, requests, run } = await batchBench(texts(100, 40));
    batches.scripts = [{ result: (text, index) => (index < 25 ? vectorOf(text) : undefined) }];
    await run();
    expect(requests.usage).toEqual([{ reason: "test", requests: 1, tokens: 250 }]);
  });
});

describe("jobs that fail", () => {
  test.each([
    ["failed", { state: { state: "failed", reason: "the file is bad" }, result: nothing }],
    ["expired with nothing done", { state: { state: "expired", reason: "the file is bad" }, result: nothing }],
    [
      "failed and cannot be collected",
      {
        state: { state: "failed", reason: "the file is bad" },
        collectErrors: [new EmbeddingError("auth", "no such file")],
      },
    ],
    ["could not be submitted", busy],
  ] as const)("twice: %s: leave the rest to direct calls, and the user is told once", async (_, script) => {
    const { store, batches, requests, run, lines, files } = await batchBench(texts(120));
    batches.scripts = [script, script, script, script];
    expect(await run({}, { concurrency: 1 })).toBeUndefined();
    expect(batches.scripts).toHaveLength(2);
    expectFilled(store, texts(120));
    expect(requests.sent.flat().toSorted()).toEqual(texts(120).toSorted());
    expect(lines).toEqual([
      expect.stringMatching(
        /^batch jobs of scripted do not work now, so that direct calls make the vectors: .*(the file is bad|503)$/,
      ),
    ]);
    expect([files(), requests.usage]).toEqual([[], []]);
  });

  test("once are tried again", async () => {
    const { store, batches, requests, run, lines } = await batchBench(texts(100));
    batches.scripts = [{ state: { state: "failed", reason: "an outage" }, result: nothing }, { polls: 1 }];
    expect(await run()).toBeUndefined();
    expect([...batches.jobs.values()]).toEqual([texts(100), texts(100)]);
    expect([requests.sent, lines]).toEqual([[], []]);
    expectFilled(store, texts(100));
  });

  test("to be submitted once are submitted again", async () => {
    const { store, batches, requests, run, lines, calls } = await batchBench(texts(100));
    batches.scripts = [busy, { polls: 1 }];
    expect(await run()).toBeUndefined();
    expect([calls("submit"), requests.sent, lines]).toEqual([["submit refused", "submit job-1"], [], []]);
    expectFilled(store, texts(100));
  });

  test("all at one time are told of once", async () => {
    const { store, batches, run, lines } = await batchBench(texts(400));
    const failed = { state: { state: "failed", reason: "an outage" }, result: nothing } as const;
    batches.scripts = [failed, failed, failed, failed];
    expect(await run({}, { concurrency: 4 })).toBeUndefined();
    expect(lines).toHaveLength(1);
    expectFilled(store, texts(400));
  });

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
    const failed = { state: { state: "failed", reason: "an outage" }, result: nothing } as const;
    batches.scripts = [failed, failed];
    for (const _ of [1, 2]) expect(await run({}, { wait: false })).toMatchObject({ chunks: 100 });
    expect(lines).toEqual([]);
    expect(await run({}, { wait: false })).toBeUndefined();
    expect(batches.jobs.size).toBe(2);
    expect(lines).toHaveLength(1);
    expect(requests.sent.flat()).toHaveLength(100);
    expectFilled(store, texts(100));
  });

  test("with every text refused leave it to direct calls to find out why", async () => {
    const { store, batches, requests, run } = await batchBench(texts(60));
    batches.scripts = [{ result: () => new EmbeddingError("input", "dimensions: 9 is not allowed") }];
    expect(await run()).toBeUndefined();
    expect(store.refused.size).toBe(0);
    expect(requests.sent.flat()).toHaveLength(60);
    expectFilled(store, texts(60));
  });

  test("to be known right after they were submitted count as failed", async () => {
    const { store, batches, requests, run, lines } = await batchBench(texts(10));
    const unknown = { state: { state: "unknown", reason: "no such job" } } as const;
    batches.scripts = [unknown, unknown, unknown];
    expect(await run()).toBeUndefined();
    expect(batches.jobs.size).toBe(2);
    expect([requests.sent.flat().length, lines.length]).toEqual([10, 1]);
    expectFilled(store, texts(10));
  });

  test("leave jobs that are still running alone when direct calls begin", async () => {
    const { store, batches, requests, run } = await batchBench(texts(300));
    const failed = { state: { state: "failed", reason: "bad" }, result: nothing } as const;
    batches.scripts = [failed, { polls: 50 }, failed];
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 300 });
    const left = await run({}, { wait: false });
    expect(left).toMatchObject({ chunks: 300, reason: "200 texts are with the provider's batch interface" });
    expect(await run({}, { wait: false })).toMatchObject({
      chunks: 100,
      reason: "100 texts are with the provider's batch interface",
    });
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
    expect(await run()).toEqual({
      chunks: 100,
      reason:
        "100 texts are with the provider's batch interface, which cannot be asked about all of them now: scripted answered 403",
    });
    expect([files().length, requests.sent]).toEqual([1, []]);
    batches.set("job-1", {});
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(200));
  });

  test("for longer than any job takes is given up", async () => {
    const { store, batches, clock, run, files, calls } = await batchBench(texts(10));
    batches.scripts = [
      { stateErrors: Array.from({ length: 9 }, () => new EmbeddingError("auth", "scripted answered 403")) },
    ];
    await run({}, { wait: false });
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 10 });
    clock.time += 49 * 60 * minute;
    expect(await run()).toBeUndefined();
    expect([calls("submit").length, files().length]).toEqual([2, 0]);
    expectFilled(store, texts(10));
  });
});

describe("submitting", () => {
  test.each(["auth", "quota"] as const)(
    "that is refused with %s leaves the judgement to a direct call",
    async (kind) => {
      const { store, batches, requests, run, calls, lines } = await batchBench(texts(10));
      batches.scripts = [new EmbeddingError(kind, "missing scope: files.write")];
      expect(await run()).toBeUndefined();
      expect(calls("submit")).toHaveLength(1);
      expect(lines).toHaveLength(1);
      expect([requests.failures, requests.sent.length]).toEqual([[], 1]);
      expectFilled(store, texts(10));
    },
  );

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
    requests.open = {
      kind: "quota",
      reason: "nothing left",
      since: "",
      nextProbeAt: "2026-03-05T11:00:00Z",
      failures: 1,
    };
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
