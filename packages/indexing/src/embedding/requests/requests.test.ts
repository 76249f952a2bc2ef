import { ProviderError, MemoryError } from "@memslot/core";
import { tempFolder as folder } from "@memslot/test-tools/files";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { never } from "../../../test/support/context.ts";
import { listen } from "../../test/listen.ts";
import {
  type Desk,
  type Outcome,
  deskIn,
  failures,
  pass,
  rateLimit,
  run,
  scriptedProvider,
  startClock,
  stopClock,
} from "./test/scripted-provider.ts";
import tables from "./test/vectors.json" with { type: "json" };
import { readUsage } from "./read-usage.ts";
import { Budget } from "./usage.ts";

const texts = ["first text", "second"];
const how = { signal: never, reason: "watch", asked: false };

beforeEach(() => stopClock("2026-03-05T12:00:00"));
afterEach(startClock);

/** The pauses between requests, in milliseconds. */
function pauses({ sent }: { sent: readonly { at: number }[] }): number[] {
  return sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
}

describe("vectors of texts", () => {
  test("are of unit length, in the order of the texts", async () => {
    const { provider, requests } = deskIn(folder());
    const { value = [] } = await run(requests.embed(texts, how));
    expect(value.map((vector) => Math.hypot(...vector))).toEqual([expect.closeTo(1, 6), expect.closeTo(1, 6)]);
    expect(value.map(([, second = 0, , fourth = 1]) => (4 * second) / fourth)).toEqual([
      expect.closeTo(10, 4),
      expect.closeTo(6, 4),
    ]);
    expect(provider.sent.map((request) => request.texts)).toEqual([texts]);
  });
});

describe("a transient failure", () => {
  test.each([
    [0, 400],
    [0.5, 500],
    [1, 600],
  ])("is tried again after a pause that doubles, with jitter (%s: %s ms), then thrown", async (chance, first) => {
    vi.spyOn(Math, "random").mockReturnValue(chance);
    const { provider, requests, circuit } = deskIn(folder(), scriptedProvider({ always: failures.transient }));
    expect((await run(requests.embed(texts, how))).error).toBe(failures.transient);
    expect(pauses(provider)).toEqual([first, 2 * first, 4 * first]);
    expect(circuit.state()).toBeUndefined();
  });

  test("is over as soon as an attempt is answered; anything that is thrown may be one", async () => {
    const provider = scriptedProvider({ steps: [new TypeError("fetch failed"), failures.transient] });
    const { value } = await run(deskIn(folder(), provider).requests.embed(texts, how));
    expect(value).toHaveLength(2);
    expect(provider.sent).toHaveLength(3);
    const always = scriptedProvider({ always: new TypeError("fetch failed") });
    const { error } = await run(deskIn(folder(), always).requests.embed(texts, how));
    expect(ProviderError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toBe("scripted: fetch failed");
  });

  test("that says when to come back is left alone until then, but not for longer than two minutes", async () => {
    const busy = (ms: number): ProviderError => new ProviderError("transient", "503", { retryAfterMs: ms });
    const patient = scriptedProvider({ steps: [busy(30_000)] });
    await run(deskIn(folder(), patient).requests.embed(texts, how));
    expect(pauses(patient)).toEqual([30_000]);
    const late = scriptedProvider({ always: busy(121_000) });
    expect((await run(deskIn(folder(), late).requests.embed(texts, how))).error).toMatchObject({ message: "503" });
    expect(late.sent).toHaveLength(1);
  });

  test.each([
    [false, 60],
    [true, 600],
  ])("no answer is one too (local: %s), after %s seconds for each attempt", async (isLocal, seconds) => {
    const told: string[] = [];
    const onRetry = (words: string): void => void told.push(words);
    const provider = scriptedProvider({ isLocal, always: "hang" });
    const { error } = await run(deskIn(folder(), provider).requests.embed(["one"], { ...how, asked: true, onRetry }));
    expect(ProviderError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toContain(`gave no answer within ${seconds} s`);
    expect(pauses(provider)).toEqual([seconds * 1000 + 500]);
    expect(provider.sent.every(({ signal }) => signal?.aborted)).toBe(true);
    expect(told).toEqual([
      `attempt 2 of 2, waits 0.5 s; before: scripted: the embedding provider scripted gave no answer within ${seconds} s`,
    ]);
  });

  test("no answer to several texts is not waited for again: fewer may be quick enough", async () => {
    const provider = scriptedProvider({ always: "hang" });
    const { requests } = deskIn(folder(), provider);
    const { tookMs } = await run(requests.embed(["one", "two"], { ...how, asked: true }));
    expect([tookMs, provider.sent.length]).toEqual([60_000, 1]);
    const behind = await run(requests.embed(["one", "two"], { ...how, asked: false }));
    expect([behind.tookMs, provider.sent.length], "nobody waits for it").toEqual([20_000, 2]);
  });

  test.each(tables.badVectors as [string, (number | null)[][], string, string, number][])(
    "is an answer with vectors that are %s, and what was wrong is said; usable ones are not paid for again",
    async (_, answer, words, kind, requests) => {
      const read = answer.map((vector) => vector.map((value) => value ?? Number.NaN));
      const provider = scriptedProvider({ always: () => read });
      const { error } = await run(deskIn(folder(), provider).requests.embed(texts, how));
      expect(error).toMatchObject({ message: words, kind, hasCost: true });
      expect(provider.sent).toHaveLength(requests);
      const once = scriptedProvider({ steps: [() => read] });
      const { value } = await run(deskIn(folder(), once).requests.embed(texts, how));
      expect(value?.length).toBe(requests === 1 ? undefined : 2);
    },
  );
});

describe("a rate limit", () => {
  test("is waited for as long as was told, and noted for everybody", async () => {
    const { provider, requests, circuit } = deskIn(folder(), scriptedProvider({ steps: [rateLimit(60_000)] }));
    const call = run(requests.embed(texts, how));
    await pass(59_000);
    expect(circuit.state()).toMatchObject({ kind: "rate", failures: 1 });
    expect((await call).value).toHaveLength(2);
    expect(pauses(provider)[0]).toBeGreaterThanOrEqual(60_000);
    expect(pauses(provider)[0]).toBeLessThan(61_000);
    expect(circuit.state()).toBeUndefined();
  });

  test("that goes on is asked ever more rarely, and given up after two minutes", async () => {
    const { provider, requests } = deskIn(folder(), scriptedProvider({ always: failures.rate }));
    const { error, tookMs } = await run(requests.embed(texts, how));
    expect(ProviderError.is(error, "rate")).toBe(true);
    expect(pauses(provider).map((ms) => Math.floor(ms / 1000))).toEqual([5, 10, 20, 40]);
    expect(tookMs).toBeLessThan(120_000);
  });

  test("of more than two minutes ends the call at once, with the time", async () => {
    const { requests } = deskIn(folder(), scriptedProvider({ always: rateLimit(150_000) }));
    const { error, tookMs } = await run(requests.embed(texts, how));
    expect(tookMs).toBe(0);
    expect(error).toMatchObject({
      kind: "rate",
      message: "scripted answered 429: slow down; no request is sent before 12:03",
      retryAfterMs: 150_000,
    });
  });

  test("calls beside it wait for its end too, and go on together after one of them was answered", async () => {
    const { provider, requests } = deskIn(folder());
    await run(requests.embed(texts, how));
    provider.steps = [rateLimit(10_000), 3000, 3000];
    const calls = [1, 2, 3].map(() => run(requests.embed(texts, how)));
    await pass(5000);
    const late = run(requests.embed(texts, how));
    provider.steps = [1000];
    for (const call of [...calls, late]) expect((await call).value).toHaveLength(2);
    const at = provider.sent.slice(4).map((request) => request.at - (provider.sent[1]?.at ?? 0));
    expect(at).toHaveLength(2);
    expect(at[0]).toBeGreaterThanOrEqual(10_000);
    expect((at[1] ?? 0) - (at[0] ?? 0), "the others wait for the probe").toBeGreaterThanOrEqual(1000);
  });
});

describe("usage", () => {
  test("counts every request, and the tokens that the other side says or else an estimate", async () => {
    const stateDir = folder();
    const provider = scriptedProvider({ steps: [failures.transient, failures.transient] });
    const { requests, usage } = deskIn(stateDir, provider);
    await run(requests.embed(["x".repeat(10), "y".repeat(7)], how));
    expect(usage.tokensToday()).toBe(5);
    const entry = { day: "2026-03-05", agentId: "main", provider: "scripted", model: "m1" };
    expect(await readUsage(stateDir)).toEqual([{ ...entry, reason: "watch", requests: 3, tokens: 5 }]);
    const saying = deskIn(stateDir, scriptedProvider({ says: 41.5, isLocal: true })).requests;
    await run(saying.embed(texts, { ...how, reason: "cli" }));
    requests.spent({ reason: "cli", requests: 2, tokens: 58 });
    const [cli] = await readUsage(stateDir);
    expect(cli).toEqual({ ...entry, reason: "cli", requests: 3, tokens: 100 });
  });

  test("counts what was paid for an answer that is of no use, and nothing for no answer", async () => {
    const bad = deskIn(folder(), scriptedProvider({ always: () => [], says: 9 }));
    await run(bad.requests.embed(texts, how));
    expect(bad.usage.tokensToday()).toBe(18);
    const refused = deskIn(folder(), scriptedProvider({ always: failures.quota }));
    await run(refused.requests.embed(texts, how));
    expect(refused.usage.tokensToday()).toBe(0);
  });
});

describe("an abort", () => {
  test.each([
    ["while it is answered", ["hang" as const]],
    ["between two attempts", [failures.transient]],
    ["while a rate limit is waited for", [rateLimit(60_000)]],
    ["in the last attempt", [...Array.from({ length: 3 }, () => failures.transient), "hang" as const]],
  ])("%s ends the call at once, with its reason", async (_, steps) => {
    const controller = new AbortController();
    const { provider, requests } = deskIn(folder(), scriptedProvider({ steps: [...steps] }));
    const call = run(requests.embed(texts, { ...how, signal: controller.signal }));
    await pass(steps.length > 1 ? 3600 : 100);
    expect(provider.sent).toHaveLength(steps.length);
    const reason = new Error("enough");
    const abortedAt = Date.now();
    controller.abort(reason);
    expect((await call).error).toBe(reason);
    expect(Date.now() - abortedAt).toBeLessThanOrEqual(100);
    await pass(120_000);
    expect(provider.sent).toHaveLength(steps.length);
  });

  test("before the call makes no request", async () => {
    const { provider, requests } = deskIn(folder());
    const reason = new Error("before");
    const signal = AbortSignal.abort(reason);
    await expect(requests.embed(texts, { ...how, signal })).rejects.toBe(reason);
    await expect(requests.embedQuery("q", { ...how, signal })).rejects.toBe(reason);
    expect(provider.sent).toEqual([]);
  });
});

describe("the gate", () => {
  const minute = 60_000;

  function fill({ requests }: Desk, signal = never): Promise<Outcome<Float32Array[]>> {
    return run(requests.embed(["one", "two"], { signal, reason: "watch", asked: false }));
  }

  function query({ requests }: Desk, text = "q"): Promise<Outcome<Float32Array>> {
    return run(requests.embedQuery(text, { signal: never, reason: "search" }));
  }

  /** A circuit that a failure for good has opened, at the time of its probe. */
  async function deskAtProbe(): Promise<Desk> {
    const desk = deskIn(folder(), undefined, 120_000);
    desk.circuit.enter(false)?.end(failures.quota);
    await pass(15 * minute);
    return desk;
  }

  describe("the first request", () => {
    test("goes alone, and the others follow together when it was answered", async () => {
      const desk = deskIn(folder(), scriptedProvider({ always: 500 }));
      const calls = [fill(desk), fill(desk), query(desk), fill(desk)];
      await pass(400);
      expect(desk.provider.sent).toHaveLength(1);
      await pass(200);
      expect(desk.provider.sent).toHaveLength(4);
      for (const call of calls) expect((await call).error).toBeUndefined();
    });

    test("is waited for no longer than two seconds", async () => {
      const desk = deskIn(folder(), scriptedProvider({ steps: [15_000] }));
      const first = fill(desk);
      await pass(1000);
      expect(await query(desk)).toMatchObject({ error: undefined, tookMs: 1000 });
      expect(await query(desk, "next"), "now it is known to answer").toMatchObject({ error: undefined, tookMs: 0 });
      expect((await first).tookMs).toBe(15_000);
    });
  });

  describe("a probe", () => {
    test("that found out nothing leaves the circuit as it was, for a minute", async () => {
      const desk = await deskAtProbe();
      desk.provider.always = failures.transient;
      const [probe, beside] = await Promise.all([fill(desk), fill(desk)]);
      expect(probe.error).toBe(failures.transient);
      expect(beside.error).toMatchObject({ kind: "quota" });
      expect(desk.provider.sent).toHaveLength(4);
      desk.provider.always = "ok";
      expect((await query(desk)).error).toMatchObject({
        kind: "quota",
        message: `${failures.quota.message}; a probe is on its way`,
        retryAfterMs: 0,
      });
      await pass(minute);
      expect((await query(desk)).value).toBeDefined();
    });

    test("that takes more than a minute is followed by another, which the next ones wait for", async () => {
      const desk = await deskAtProbe();
      desk.provider.steps = ["hang", 30_000];
      const controller = new AbortController();
      const first = fill(desk, controller.signal);
      await pass(1000);
      const second = fill(desk);
      await pass(minute - 2000);
      expect(desk.provider.sent).toHaveLength(1);
      await pass(1100);
      expect(desk.provider.sent).toHaveLength(2);
      controller.abort();
      await first;
      expect((await fill(desk)).value).toHaveLength(2);
      expect((await second).value).toHaveLength(2);
    });

    test("that is aborted is waited for no longer", async () => {
      const desk = await deskAtProbe();
      desk.provider.steps = ["hang"];
      const controller = new AbortController();
      const first = fill(desk, controller.signal);
      const second = fill(desk);
      await pass(100);
      controller.abort();
      const { error, tookMs } = await second;
      expect(error).toMatchObject({ kind: "quota" });
      expect(tookMs).toBeLessThanOrEqual(200);
      await first;
    });
  });

  test("an attempt is not repeated when another process has meanwhile learnt that nothing is left", async () => {
    const stateDir = folder();
    const [desk, other] = [deskIn(stateDir), deskIn(stateDir)];
    desk.provider.steps = [failures.transient];
    const call = fill(desk);
    await pass(100);
    other.circuit.enter(false)?.end(failures.quota);
    expect((await call).error).toMatchObject({ kind: "quota" });
    expect(desk.provider.sent).toHaveLength(1);
  });
});

describe("tracing", () => {
  const how = { signal: never, reason: "sync", asked: true };
  const texts = ["WORDOFNOTE one", "WORDOFNOTE two"];

  describe("requests to a provider", () => {
    test("are told one by one, and what was wanted of them once", async () => {
      const [embedding, provider] = [listen("embedding"), listen("provider")];
      const { requests } = deskIn(folder(), scriptedProvider({ steps: [failures.transient], says: 7 }));
      await run(requests.embed(texts, how));
      const names = {
        provider: "scripted",
        model: "m1",
        operation: "embedBatch",
        texts: 2,
        tookMs: expect.any(Number),
      };
      expect(provider).toEqual([
        { ...names, attempt: 1, outcome: "failed", errorCode: "transient" },
        { ...names, attempt: 2, outcome: "ok", tokens: 7 },
      ]);
      expect(embedding).toEqual([{ ...names, reason: "sync", outcome: "ok", dimensions: 4 }]);
      expect(JSON.stringify([embedding, provider])).not.toContain("WORDOF");
    });

    test("are told with the kind of their failure, also where none is sent", async () => {
      const [embedding, provider] = [listen("embedding"), listen("provider")];
      const { requests, usage } = deskIn(folder(), scriptedProvider({ steps: [failures.auth] }));
      await run(requests.embed(texts, how));
      await run(requests.embed(texts, { ...how, asked: false }));
      const other = deskIn(folder());
      await run(other.requests.embed(texts, { ...how, budget: new Budget(usage, 1) }));
      expect(embedding.map(({ errorCode }) => errorCode)).toEqual(["auth", "auth", "OVER_BUDGET"]);
      expect(provider.map(({ errorCode }) => errorCode)).toEqual(["auth"]);
    });

    test("that are called off are told as aborted, and those that hang by their time limit", async () => {
      const [embedding, provider] = [listen("embedding"), listen("provider")];
      const { requests } = deskIn(folder(), scriptedProvider({ always: "hang" }));
      const controller = new AbortController();
      const called = requests.embed(texts, { ...how, signal: controller.signal });
      const ended = called.catch(() => undefined);
      await pass(0);
      controller.abort();
      await run(ended);
      await run(requests.embed(texts, how));
      expect(provider.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["aborted", "UNAVAILABLE"]);
      expect(embedding.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["aborted", "transient"]);
    });
  });
});

describe("a provider in trouble", () => {
  const minutes = 60_000;
  let queries = 0;

  beforeEach(() => stopClock("2026-03-05T23:50:00"));

  function query({ requests }: Desk): Promise<Outcome<Float32Array>> {
    return run(requests.embedQuery(`query ${queries++}`, { signal: never, reason: "search" }));
  }

  function fill({ requests }: Desk, asked = false): Promise<Outcome<Float32Array[]>> {
    return run(requests.embed(["one", "two"], { signal: never, reason: asked ? "cli" : "watch", asked }));
  }

  /** Searches and four fills at a time, again and again. Gives what did not fail. */
  async function work(desks: readonly Desk[], forMs: number, everyMs = 10_000): Promise<unknown[]> {
    const good: unknown[] = [];
    for (const end = Date.now() + forMs; Date.now() < end; await pass(everyMs)) {
      const calls = desks.flatMap((desk) => [query(desk), fill(desk), fill(desk), query(desk), fill(desk), fill(desk)]);
      for (const { value, error } of await Promise.all<Outcome<unknown>>(calls)) {
        if (value !== undefined) good.push(value);
        else expect(ProviderError.is(error)).toBe(true);
      }
    }
    return good;
  }

  /** Two processes, as far as they share nothing but the state folder. */
  function twoDesks(provider = scriptedProvider()): [Desk, Desk] {
    const stateDir = folder();
    return [deskIn(stateDir, provider), deskIn(stateDir, provider)];
  }

  describe("a provider that refuses for good", () => {
    test.each([failures.quota, failures.auth, new ProviderError("auth", "scripted answered 403: this key has leaked")])(
      "%s: one request in ten minutes of work, also with calls at the same time",
      async (failure) => {
        const provider = scriptedProvider({ always: failure });
        const [first, second] = twoDesks(provider);
        expect(await work([first], 5 * minutes)).toEqual([]);
        expect(await work([second, first], 5 * minutes)).toEqual([]);
        expect(provider.sent).toHaveLength(1);
        expect(second.circuit.state()).toMatchObject({ kind: failure.kind, reason: failure.message, failures: 1 });
      },
    );

    test("what refused and when the next probe is stands in the message, with the day when it is another", async () => {
      const [desk] = twoDesks(scriptedProvider({ always: failures.quota }));
      expect((await fill(desk)).error).toBe(failures.quota);
      await pass(1000);
      const { error, tookMs } = await query(desk);
      expect(tookMs).toBe(0);
      expect(error).toMatchObject({
        kind: "quota",
        message: `${failures.quota.message}; no request is sent before 2026-03-06 00:05`,
        retryAfterMs: 15 * minutes - 1000,
      });
      await pass(10 * minutes);
      expect((await fill(desk)).error).toMatchObject({
        message: `${failures.quota.message}; no request is sent before 00:05`,
      });
    });

    test("all goes on as soon as a probe succeeds, together with those who waited for it", async () => {
      const provider = scriptedProvider({ always: failures.auth });
      const [first, second] = twoDesks(provider);
      await work([first, second], minutes);
      provider.always = 300;
      await pass(15 * minutes);
      const outcomes = await Promise.all<Outcome<unknown>>([query(first), fill(first), fill(first), fill(first)]);
      expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
      expect(first.circuit.state()).toBeUndefined();
      expect((await query(second)).value).toBeDefined();
    });

    test("is tried once when a person asks, whatever the time, by one of the calls that are made for that", async () => {
      const provider = scriptedProvider({ always: failures.quota });
      const [desk, other] = twoDesks(provider);
      await fill(desk);
      const refused = await Promise.all([fill(desk, true), fill(desk, true), fill(desk, true)]);
      expect(refused.every(({ error }) => ProviderError.is(error, "quota"))).toBe(true);
      expect(provider.sent).toHaveLength(2);
      expect((await query(other)).error, "nobody else is").toMatchObject({ kind: "quota" });
      provider.always = "ok";
      const filled = await Promise.all([fill(desk, true), fill(desk, true), fill(desk, true)]);
      expect(filled.every(({ value }) => value?.length === 2)).toBe(true);
      expect((await query(other)).value).toBeDefined();
    });
  });

  describe("a provider that is out of order", () => {
    test("costs what it says, to the last request", async () => {
      const stateDir = folder();
      const provider = scriptedProvider({ says: 11 });
      const [first, second] = [deskIn(stateDir, provider), deskIn(stateDir, provider)];
      provider.steps = [failures.transient, "ok", "hang", failures.transient, "ok", failures.quota];
      await work([first, second], 10 * minutes);
      await pass(20 * minutes);
      await work([first, second], minutes);
      await Promise.all([first.requests.close(), second.requests.close()]);
      const entries = await readUsage(stateDir);
      expect(entries.reduce((sum, { requests }) => sum + requests, 0)).toBe(provider.sent.length);
      expect(entries.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(11 * (provider.sent.length - 4));
      expect(new Set(entries.map(({ day }) => day))).toEqual(new Set(["2026-03-05", "2026-03-06"]));
    });
  });
});

describe("vectors of queries", () => {
  const how = { signal: never, reason: "search" };

  function askedFor({ provider }: Desk): string[] {
    return provider.sent.flatMap(({ texts }) => texts);
  }

  describe("the vector of a query", () => {
    test("is of unit length, and asked for once", async () => {
      const desk = deskIn(folder());
      const { value } = await run(desk.requests.embedQuery("when?", how));
      expect(Math.hypot(...(value ?? []))).toBeCloseTo(1, 6);
      expect(desk.provider.sent).toMatchObject([{ kind: "query", texts: ["when?"] }]);
      value?.fill(9);
      const again = await run(desk.requests.embedQuery("when?", how));
      expect(Math.hypot(...(again.value ?? [])), "nobody else's changes").toBeCloseTo(1, 6);
      again.value?.fill(9);
      const third = await run(desk.requests.embedQuery("when?", how));
      expect(Math.hypot(...(third.value ?? []))).toBeCloseTo(1, 6);
      expect(askedFor(desk)).toEqual(["when?"]);
    });

    test("those who ask at the same time share one request", async () => {
      const desk = deskIn(folder(), scriptedProvider({ always: 1000 }));
      const calls = ["a", "b", "a", "a"].map((query) => run(desk.requests.embedQuery(query, how)));
      for (const call of calls) expect((await call).value).toBeDefined();
      expect(askedFor(desk).toSorted()).toEqual(["a", "b"]);
    });

    test("the last 256 are kept, by when they were asked for", async () => {
      const desk = deskIn(folder());
      for (let query = 0; query < 256; query++) await run(desk.requests.embedQuery(`q${query}`, how));
      await run(desk.requests.embedQuery("q0", how));
      await run(desk.requests.embedQuery("one more", how));
      expect(askedFor(desk)).toHaveLength(257);
      for (const query of ["q0", "q2", "q255", "one more"]) await run(desk.requests.embedQuery(query, how));
      expect(askedFor(desk)).toHaveLength(257);
      await run(desk.requests.embedQuery("q1", how));
      expect(askedFor(desk)).toHaveLength(258);
    });
  });

  describe("its patience", () => {
    test("is 8 seconds; the request goes on, and a repeat gets its answer", async () => {
      const desk = deskIn(folder(), scriptedProvider({ steps: [19_000] }));
      const { error, tookMs } = await run(desk.requests.embedQuery("slow", how));
      expect(ProviderError.is(error, "transient")).toBe(true);
      expect((error as Error).message).toBe("the embedding provider scripted gave no answer within 8 s");
      expect(tookMs).toBe(8000);
      const second = await run(desk.requests.embedQuery("slow", how));
      expect(second).toMatchObject({ value: undefined, tookMs: 8000 });
      const third = await run(desk.requests.embedQuery("slow", how));
      expect(third.value).toHaveLength(4);
      expect(third.tookMs).toBe(3000);
      expect((await run(desk.requests.embedQuery("slow", how))).tookMs).toBe(0);
      expect(askedFor(desk)).toEqual(["slow"]);
    });

    test.each([
      [false, 20],
      [true, 300],
    ])("what goes on (local: %s) ends after %s seconds, and is not tried again", async (isLocal, seconds) => {
      const desk = deskIn(folder(), scriptedProvider({ isLocal, always: "hang" }));
      await run(desk.requests.embedQuery("q", how));
      await pass(seconds * 1000 - 8001);
      expect(desk.provider.sent[0]?.signal?.aborted).toBe(false);
      await pass(2);
      expect(desk.provider.sent[0]?.signal?.aborted).toBe(true);
      await pass(60_000);
      expect(askedFor(desk)).toHaveLength(1);
    });

    test("has room for three attempts at a transient failure, and for as many as fit", async () => {
      const desk = deskIn(folder(), scriptedProvider({ always: failures.transient }));
      const { error, tookMs } = await run(desk.requests.embedQuery("q", how));
      expect(error).toBe(failures.transient);
      expect(tookMs).toBe(1500);
      expect(askedFor(desk)).toHaveLength(3);
      await run(desk.requests.embedQuery("short", { ...how, patienceMs: 1200 }));
      expect(askedFor(desk)).toHaveLength(5);
    });

    test("has none for a rate limit: it is noted, and keywords have to do", async () => {
      const desk = deskIn(folder(), scriptedProvider({ always: rateLimit(2000) }));
      const { error, tookMs } = await run(desk.requests.embedQuery("q", how));
      expect(error).toMatchObject({ kind: "rate", retryAfterMs: 2000 });
      expect(tookMs).toBe(0);
      expect((await run(desk.requests.embedQuery("other", how))).error).toMatchObject({ kind: "rate" });
      expect(askedFor(desk)).toHaveLength(1);
    });
  });

  describe("an abort", () => {
    test("ends the call at once with its reason, and the request when nobody waits any more", async () => {
      const desk = deskIn(folder(), scriptedProvider({ always: "hang" }));
      const controllers = [new AbortController(), new AbortController()];
      const calls = controllers.map(({ signal }) => run(desk.requests.embedQuery("q", { ...how, signal })));
      await pass(100);
      const [first, second] = controllers;
      first?.abort(new Error("first"));
      expect((await calls[0])?.error).toMatchObject({ message: "first" });
      expect(desk.provider.sent[0]?.signal?.aborted, "the second waits").toBe(false);
      second?.abort(new Error("second"));
      expect((await calls[1])?.error).toMatchObject({ message: "second" });
      await pass(0);
      expect(desk.provider.sent[0]?.signal?.aborted).toBe(true);
      desk.provider.always = "ok";
      expect((await run(desk.requests.embedQuery("q", how))).value).toHaveLength(4);
    });
  });

  test("closing ends what goes on, and no query is begun after it", async () => {
    const desk = deskIn(folder(), scriptedProvider({ always: "hang" }));
    await run(desk.requests.embedQuery("behind", { ...how, patienceMs: 500 }));
    const waiting = run(desk.requests.embedQuery("waiting", how));
    await pass(2500);
    expect(desk.provider.sent.map(({ signal }) => signal?.aborted)).toEqual([false, false]);
    await desk.requests.close();
    expect(MemoryError.is((await waiting).error, "CLOSED")).toBe(true);
    expect(desk.provider.sent.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
    const { error } = await run(desk.requests.embedQuery("later", how));
    expect(MemoryError.is(error, "CLOSED")).toBe(true);
    expect(askedFor(desk)).toHaveLength(2);
  });
});
