import { ProviderError, MemoryError } from "@memslot/core";
import { tempFolder as folder } from "@memslot/test-tools/files";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listen } from "../../test/listen.ts";
import {
  type Desk,
  type Outcome,
  deskIn,
  failures,
  pass,
  rateLimit,
  scriptedProvider,
  startClock,
  stopClock,
} from "./test/scripted-provider.ts";
import tables from "./test/vectors.json" with { type: "json" };
import { SharedState } from "./shared-state.ts";
import { readUsage } from "./read-usage.ts";
import { Usage } from "./usage.ts";

const minute = 60_000;

beforeEach(() => stopClock("2026-03-05T12:00:00"));
afterEach(startClock);

const sentTexts = ({ provider }: Desk): string[] => provider.sent.flatMap(({ texts }) => texts);
const isAborted = ({ provider }: Desk): unknown[] => provider.sent.map(({ signal }) => signal?.aborted);

test("vectors have length 1 and the order of the texts", async () => {
  const desk = deskIn();
  const { value = [] } = await desk.embed();
  expect(value.map((vector) => Math.hypot(...vector))).toEqual([expect.closeTo(1, 6), expect.closeTo(1, 6)]);
  expect(value.map(([, second = 0, , fourth = 1]) => (4 * second) / fourth)).toEqual([
    expect.closeTo(10, 4),
    expect.closeTo(6, 4),
  ]);
  expect(desk.provider.sent.map(({ texts }) => texts)).toEqual([["first text", "second"]]);
});

describe("a transient failure", () => {
  test.each([
    [0, 400],
    [0.5, 500],
    [1, 600],
  ])("is retried after a pause that doubles, with jitter (%s: %s ms), then thrown", async (chance, first) => {
    vi.spyOn(Math, "random").mockReturnValue(chance);
    const desk = deskIn({ always: failures.transient });
    expect((await desk.embed()).error).toBe(failures.transient);
    expect(desk.pauses()).toEqual([first, 2 * first, 4 * first]);
    expect(desk.circuit.state()).toBeUndefined();
  });

  test("ends with the first answer; any thrown error is one", async () => {
    const desk = deskIn({ steps: [new TypeError("fetch failed"), failures.transient] });
    expect((await desk.embed()).value).toHaveLength(2);
    expect(desk.provider.sent).toHaveLength(3);
    const { error } = await deskIn({ always: new TypeError("fetch failed") }).embed();
    expect(error).toMatchObject({ kind: "transient", message: "scripted: fetch failed" });
  });

  test("with Retry-After is retried at that time, up to two minutes", async () => {
    const busy = (ms: number): ProviderError => new ProviderError("transient", "503", { retryAfterMs: ms });
    const patient = deskIn({ steps: [busy(30_000)] });
    await patient.embed();
    expect(patient.pauses()).toEqual([30_000]);
    const late = deskIn({ always: busy(121_000) });
    expect((await late.embed()).error).toMatchObject({ message: "503" });
    expect(late.provider.sent).toHaveLength(1);
  });

  test.each([
    [false, 60],
    [true, 600],
  ])("is a request without an answer (local: %s) after %s seconds", async (isLocal, seconds) => {
    const retries: string[] = [];
    const onRetry = (words: string): void => void retries.push(words);
    const desk = deskIn({ isLocal, always: "hang" });
    const { error } = await desk.embed({ texts: ["one"], asked: true, onRetry });
    const message = `did not answer within ${seconds} s`;
    expect(error).toMatchObject({ kind: "transient", message: expect.stringContaining(message) });
    expect(desk.pauses()).toEqual([seconds * 1000 + 500]);
    expect(isAborted(desk)).toEqual([true, true]);
    expect(retries).toEqual([
      `attempt 2 of 2, waits 0.5 s; before: scripted: the embedding provider scripted ${message}`,
    ]);
  });

  test("is not retried if several texts get no answer: fewer may be quick enough", async () => {
    const desk = deskIn({ always: "hang" });
    expect((await desk.embed({ asked: true })).tookMs).toBe(60_000);
    expect((await desk.embed()).tookMs, "in the background").toBe(20_000);
    expect(desk.provider.sent).toHaveLength(2);
  });

  test.each(tables.badVectors as [string, (number | null)[][], string, string, number][])(
    "are vectors that are %s; usable ones are not paid for again",
    async (_, answer, words, kind, requests) => {
      const read = answer.map((vector) => vector.map((value) => value ?? Number.NaN));
      const desk = deskIn({ always: () => read });
      expect((await desk.embed()).error).toMatchObject({ message: words, kind, hasCost: true });
      expect(desk.provider.sent).toHaveLength(requests);
      const { value } = await deskIn({ steps: [() => read] }).embed();
      expect(value?.length).toBe(requests === 1 ? undefined : 2);
    },
  );
});

describe("a rate limit", () => {
  test("is waited for, and known to all callers", async () => {
    const desk = deskIn({ steps: [rateLimit(minute)] });
    const call = desk.embed();
    await pass(59_000);
    expect(desk.circuit.state()).toMatchObject({ kind: "rate", failures: 1 });
    expect((await call).value).toHaveLength(2);
    expect(Math.floor((desk.pauses()[0] ?? 0) / 1000)).toBe(60);
    expect(desk.circuit.state()).toBeUndefined();
  });

  test("that persists is probed ever more rarely, for two minutes", async () => {
    const desk = deskIn({ always: failures.rate });
    const { error, tookMs } = await desk.embed();
    expect(error).toMatchObject({ kind: "rate" });
    expect(desk.pauses().map((ms) => Math.floor(ms / 1000))).toEqual([5, 10, 20, 40]);
    expect(tookMs).toBeLessThan(120_000);
  });

  test("of more than two minutes ends the call at once, with the time", async () => {
    const { error, tookMs } = await deskIn({ always: rateLimit(150_000) }).embed();
    const message = "scripted answered 429: slow down; no request is sent before 12:03";
    expect(error).toMatchObject({ kind: "rate", message, retryAfterMs: 150_000 });
    expect(tookMs).toBe(0);
  });

  test("delays concurrent calls, which continue together after one answer", async () => {
    const desk = deskIn();
    await desk.embed();
    desk.provider.steps = [rateLimit(10_000), 3000, 3000];
    const calls = [1, 2, 3].map(() => desk.embed());
    await pass(5000);
    const late = desk.embed();
    desk.provider.steps = [1000];
    for (const call of [...calls, late]) expect((await call).value).toHaveLength(2);
    const at = desk.provider.sent.slice(4).map((request) => request.at - (desk.provider.sent[1]?.at ?? 0));
    expect(at).toHaveLength(2);
    expect(at[0]).toBeGreaterThanOrEqual(10_000);
    expect((at[1] ?? 0) - (at[0] ?? 0), "the others wait for the probe").toBeGreaterThanOrEqual(1000);
  });
});

describe("usage", () => {
  test("counts every request, and reported tokens or an estimate", async () => {
    const stateDir = folder();
    const desk = deskIn({ steps: [failures.transient, failures.transient] }, { stateDir });
    await desk.embed({ texts: ["x".repeat(10), "y".repeat(7)] });
    const entry = { day: "2026-03-05", agentId: "main", provider: "scripted", model: "m1" };
    expect(await readUsage(stateDir)).toEqual([{ ...entry, reason: "watch", requests: 3, tokens: 5 }]);
    await deskIn({ says: 41.5, isLocal: true }, { stateDir }).embed({ reason: "cli" });
    desk.requests.spent({ reason: "cli", requests: 2, tokens: 58 });
    expect((await readUsage(stateDir))[0]).toEqual({ ...entry, reason: "cli", requests: 3, tokens: 100 });
  });

  test("counts the cost of a useless answer, and nothing for a refusal", async () => {
    const bad = deskIn({ always: () => [], says: 9 });
    await bad.embed();
    const refused = deskIn({ always: failures.quota });
    await refused.embed();
    expect([bad.usage.tokensToday(), refused.usage.tokensToday()]).toEqual([18, 0]);
  });
});

describe("an abort", () => {
  test.each([
    ["during a request", ["hang" as const]],
    ["between two attempts", [failures.transient]],
    ["during a rate limit", [rateLimit(minute)]],
    ["in the last attempt", [...Array.from({ length: 3 }, () => failures.transient), "hang" as const]],
  ])("%s ends the call at once, with its reason", async (_, steps) => {
    const controller = new AbortController();
    const desk = deskIn({ steps: [...steps] });
    const call = desk.embed({ signal: controller.signal });
    await pass(steps.length > 1 ? 3600 : 100);
    expect(desk.provider.sent).toHaveLength(steps.length);
    const reason = new Error("enough");
    const abortedAt = Date.now();
    controller.abort(reason);
    expect((await call).error).toBe(reason);
    expect(Date.now() - abortedAt).toBeLessThanOrEqual(100);
    await pass(2 * minute);
    expect(desk.provider.sent).toHaveLength(steps.length);
  });

  test("before the call sends nothing", async () => {
    const desk = deskIn();
    const reason = new Error("before");
    const signal = AbortSignal.abort(reason);
    expect([(await desk.embed({ signal })).error, (await desk.query("q", { signal })).error]).toEqual([reason, reason]);
    expect(desk.provider.sent).toEqual([]);
  });
});

describe("the circuit", () => {
  /** A circuit that a permanent failure has opened, at the time of its probe. */
  async function deskAtProbe(): Promise<Desk> {
    const desk = deskIn({}, { requestMs: 2 * minute });
    desk.circuit.enter(false)?.end(failures.quota);
    await pass(15 * minute);
    return desk;
  }

  test("sends the first request alone, for two seconds at most", async () => {
    const desk = deskIn({ always: 500 });
    const calls = [desk.embed(), desk.embed(), desk.query(), desk.embed()];
    await pass(400);
    expect(desk.provider.sent).toHaveLength(1);
    await pass(200);
    expect(desk.provider.sent).toHaveLength(4);
    for (const call of calls) expect((await call).error).toBeUndefined();
    const slow = deskIn({ steps: [15_000] });
    const first = slow.embed();
    await pass(1000);
    expect(await slow.query()).toMatchObject({ error: undefined, tookMs: 1000 });
    expect(await slow.query("next"), "now it has answered").toMatchObject({ error: undefined, tookMs: 0 });
    expect((await first).tookMs).toBe(15_000);
  });

  test("stays open for a minute after a probe without a result", async () => {
    const desk = await deskAtProbe();
    desk.provider.always = failures.transient;
    const [probe, beside] = await Promise.all([desk.embed(), desk.embed()]);
    expect([probe.error, beside.error]).toMatchObject([failures.transient, { kind: "quota" }]);
    expect(desk.provider.sent).toHaveLength(4);
    desk.provider.always = "ok";
    const message = `${failures.quota.message}; a probe is on its way`;
    expect((await desk.query()).error).toMatchObject({ kind: "quota", message, retryAfterMs: 0 });
    await pass(minute);
    expect((await desk.query()).value).toBeDefined();
  });

  test("sends a second probe after a minute, and other calls wait for it", async () => {
    const desk = await deskAtProbe();
    desk.provider.steps = ["hang", 30_000];
    const controller = new AbortController();
    const first = desk.embed({ signal: controller.signal });
    await pass(1000);
    const second = desk.embed();
    await pass(minute - 2000);
    expect(desk.provider.sent).toHaveLength(1);
    await pass(1100);
    expect(desk.provider.sent).toHaveLength(2);
    controller.abort();
    await first;
    expect((await desk.embed()).value).toHaveLength(2);
    expect((await second).value).toHaveLength(2);
  });

  test("does not wait for an aborted probe", async () => {
    const desk = await deskAtProbe();
    desk.provider.steps = ["hang"];
    const controller = new AbortController();
    const first = desk.embed({ signal: controller.signal });
    const second = desk.embed();
    await pass(100);
    controller.abort();
    const { error, tookMs } = await second;
    expect(error).toMatchObject({ kind: "quota" });
    expect(tookMs).toBeLessThanOrEqual(200);
    await first;
  });

  test("ends retries if another process is refused meanwhile", async () => {
    const stateDir = folder();
    const desk = deskIn({ steps: [failures.transient] }, { stateDir });
    const call = desk.embed();
    await pass(100);
    deskIn({}, { stateDir }).circuit.enter(false)?.end(failures.quota);
    expect((await call).error).toMatchObject({ kind: "quota" });
    expect(desk.provider.sent).toHaveLength(1);
  });
});

test("traces each request and each call, with the kind of a failure and no text", async () => {
  const [embedding, provider] = [listen("embedding"), listen("provider")];
  const call = { reason: "sync", asked: true, texts: ["WORDOFNOTE one", "WORDOFNOTE two"] };
  await deskIn({ steps: [failures.transient], says: 7 }).embed(call);
  const names = { provider: "scripted", model: "m1", operation: "embedBatch", texts: 2, tookMs: expect.any(Number) };
  expect(provider.splice(0)).toEqual([
    { ...names, attempt: 1, outcome: "failed", errorCode: "transient" },
    { ...names, attempt: 2, outcome: "ok", tokens: 7 },
  ]);
  expect(embedding.splice(0)).toEqual([{ ...names, reason: "sync", outcome: "ok", dimensions: 4 }]);
  const refused = deskIn({ steps: [failures.auth] });
  await refused.embed(call);
  await refused.embed({ ...call, asked: false });
  await deskIn().embed({ ...call, budget: new Usage(new SharedState(folder()), "main", 1) });
  const hanging = deskIn({ always: "hang" });
  const controller = new AbortController();
  const aborted = hanging.embed({ ...call, signal: controller.signal });
  await pass(0);
  controller.abort();
  await aborted;
  await hanging.embed(call);
  const codes = (events: typeof provider): unknown[] => events.map(({ outcome, errorCode }) => errorCode ?? outcome);
  expect(codes(embedding)).toEqual(["auth", "auth", "OVER_BUDGET", "aborted", "transient"]);
  expect(codes(provider)).toEqual(["auth", "aborted", "UNAVAILABLE"]);
  expect(JSON.stringify([embedding, provider])).not.toContain("WORDOF");
});

describe("a provider that refuses permanently", () => {
  let queries = 0;
  beforeEach(() => stopClock("2026-03-05T23:50:00"));

  const query = (desk: Desk): Promise<Outcome<Float32Array>> => desk.query(`query ${queries++}`);

  /** Searches and four fills at a time, again and again. Returns what succeeded. */
  async function work(desks: readonly Desk[], forMs: number): Promise<unknown[]> {
    const good: unknown[] = [];
    for (const end = Date.now() + forMs; Date.now() < end; await pass(10_000)) {
      const calls = desks.flatMap((desk) => [query(desk), query(desk), ...[1, 2, 3, 4].map(() => desk.embed())]);
      for (const { value, error } of await Promise.all<Outcome<unknown>>(calls)) {
        if (value !== undefined) good.push(value);
        else expect(ProviderError.is(error)).toBe(true);
      }
    }
    return good;
  }

  /** Two processes that share the state folder only. */
  function twoDesks(script: Parameters<typeof scriptedProvider>[0]): [Desk, Desk] {
    const [stateDir, provider] = [folder(), scriptedProvider(script)];
    return [deskIn(provider, { stateDir }), deskIn(provider, { stateDir })];
  }

  test.each([failures.quota, failures.auth])("%s: gets one request in ten minutes of work", async (failure) => {
    const [first, second] = twoDesks({ always: failure });
    expect(await work([first], 5 * minute)).toEqual([]);
    expect(await work([second, first], 5 * minute)).toEqual([]);
    expect(first.provider.sent).toHaveLength(1);
    expect(second.circuit.state()).toMatchObject({ kind: failure.kind, reason: failure.message, failures: 1 });
  });

  test("is reported with the time of the next probe, and the day if it is not today", async () => {
    const [desk] = twoDesks({ always: failures.quota });
    expect((await desk.embed()).error).toBe(failures.quota);
    await pass(1000);
    const { error, tookMs } = await query(desk);
    const message = (time: string): string => `${failures.quota.message}; no request is sent before ${time}`;
    const retryAfterMs = 15 * minute - 1000;
    expect(error).toMatchObject({ kind: "quota", message: message("2026-03-06 00:05"), retryAfterMs });
    expect(tookMs).toBe(0);
    await pass(10 * minute);
    expect((await desk.embed()).error).toMatchObject({ message: message("00:05") });
  });

  test("is used again by all after a successful probe", async () => {
    const [first, second] = twoDesks({ always: failures.auth });
    await work([first, second], minute);
    first.provider.always = 300;
    await pass(15 * minute);
    const outcomes = await Promise.all<Outcome<unknown>>([query(first), first.embed(), first.embed(), first.embed()]);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
    expect(first.circuit.state()).toBeUndefined();
    expect((await query(second)).value).toBeDefined();
  });

  test("gets one probe for a user's request, whatever the time", async () => {
    const [desk, other] = twoDesks({ always: failures.quota });
    await desk.embed();
    const three = (): Promise<Outcome<Float32Array[]>[]> =>
      Promise.all([1, 2, 3].map(() => desk.embed({ asked: true })));
    expect((await three()).every(({ error }) => ProviderError.is(error, "quota"))).toBe(true);
    expect(desk.provider.sent).toHaveLength(2);
    expect((await query(other)).error).toMatchObject({ kind: "quota" });
    desk.provider.always = "ok";
    expect((await three()).every(({ value }) => value?.length === 2)).toBe(true);
    expect((await query(other)).value).toBeDefined();
  });

  test("is counted to the last request and token, over two days", async () => {
    const [stateDir, provider] = [folder(), scriptedProvider({ says: 11 })];
    const desks = [deskIn(provider, { stateDir }), deskIn(provider, { stateDir })];
    provider.steps = [failures.transient, "ok", "hang", failures.transient, "ok", failures.quota];
    await work(desks, 10 * minute);
    await pass(20 * minute);
    await work(desks, minute);
    await Promise.all(desks.map(({ requests }) => requests.close()));
    const entries = await readUsage(stateDir);
    expect(entries.reduce((sum, { requests }) => sum + requests, 0)).toBe(provider.sent.length);
    expect(entries.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(11 * (provider.sent.length - 4));
    expect(new Set(entries.map(({ day }) => day))).toEqual(new Set(["2026-03-05", "2026-03-06"]));
  });
});

describe("the vector of a query", () => {
  test("has length 1, is cached, and each caller has a copy", async () => {
    const desk = deskIn();
    for (let time = 0; time < 3; time++) {
      const { value } = await desk.query("when?");
      expect(Math.hypot(...(value ?? []))).toBeCloseTo(1, 6);
      value?.fill(9);
    }
    expect(desk.provider.sent).toMatchObject([{ kind: "query", texts: ["when?"] }]);
  });

  test("is requested once for concurrent callers", async () => {
    const desk = deskIn({ always: 1000 });
    for (const call of ["a", "b", "a", "a"].map((text) => desk.query(text))) expect((await call).value).toBeDefined();
    expect(sentTexts(desk).toSorted()).toEqual(["a", "b"]);
  });

  test("is cached for the 256 last used queries", async () => {
    const desk = deskIn();
    for (let query = 0; query < 256; query++) await desk.query(`q${query}`);
    for (const query of ["q0", "one more", "q0", "q2", "q255", "one more"]) await desk.query(query);
    expect(sentTexts(desk)).toHaveLength(257);
    await desk.query("q1");
    expect(sentTexts(desk)).toHaveLength(258);
  });

  test("is waited for 8 seconds; the request continues, and a repeated query gets its answer", async () => {
    const desk = deskIn({ steps: [19_000] });
    const { error, tookMs } = await desk.query("slow");
    const message = "the embedding provider scripted did not answer within 8 s";
    expect(error).toMatchObject({ kind: "transient", message });
    expect(tookMs).toBe(8000);
    expect(await desk.query("slow")).toMatchObject({ value: undefined, tookMs: 8000 });
    expect(await desk.query("slow")).toMatchObject({ error: undefined, tookMs: 3000 });
    expect((await desk.query("slow")).tookMs).toBe(0);
    expect(sentTexts(desk)).toEqual(["slow"]);
  });

  test.each([
    [false, 20],
    [true, 300],
  ])("is given up (local: %s) after %s seconds, without a retry", async (isLocal, seconds) => {
    const desk = deskIn({ isLocal, always: "hang" });
    await desk.query();
    await pass(seconds * 1000 - 8001);
    expect(isAborted(desk)).toEqual([false]);
    await pass(2);
    expect(isAborted(desk)).toEqual([true]);
    await pass(minute);
    expect(sentTexts(desk)).toHaveLength(1);
  });

  test("is retried twice after a transient failure if there is time, and not after a rate limit", async () => {
    const desk = deskIn({ always: failures.transient });
    expect(await desk.query()).toMatchObject({ error: failures.transient, tookMs: 1500 });
    expect(sentTexts(desk)).toHaveLength(3);
    await desk.query("short", { patienceMs: 1200 });
    expect(sentTexts(desk)).toHaveLength(5);
    const limited = deskIn({ always: rateLimit(2000) });
    expect(await limited.query()).toMatchObject({ error: { kind: "rate", retryAfterMs: 2000 }, tookMs: 0 });
    expect((await limited.query("other")).error).toMatchObject({ kind: "rate" });
    expect(sentTexts(limited)).toHaveLength(1);
  });

  test("an abort ends the call at once, and the request with its last caller", async () => {
    const desk = deskIn({ always: "hang" });
    const controllers = [new AbortController(), new AbortController()];
    const calls = controllers.map(({ signal }) => desk.query("q", { signal }));
    await pass(100);
    for (const [index, controller] of controllers.entries()) {
      expect(isAborted(desk), "a caller waits").toEqual([false]);
      controller.abort(new Error(`caller ${index}`));
      expect((await calls[index])?.error).toMatchObject({ message: `caller ${index}` });
    }
    await pass(0);
    expect(isAborted(desk)).toEqual([true]);
    desk.provider.always = "ok";
    expect((await desk.query()).value).toHaveLength(4);
  });

  test("closing ends all requests and refuses further queries", async () => {
    const desk = deskIn({ always: "hang" });
    await desk.query("behind", { patienceMs: 500 });
    const waiting = desk.query("waiting");
    await pass(2500);
    expect(isAborted(desk)).toEqual([false, false]);
    await desk.requests.close();
    expect(MemoryError.is((await waiting).error, "CLOSED")).toBe(true);
    expect(isAborted(desk)).toEqual([true, true]);
    expect(MemoryError.is((await desk.query("later")).error, "CLOSED")).toBe(true);
    expect(sentTexts(desk)).toHaveLength(2);
  });
});
