import { EmbeddingError } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Circuit } from "./circuit.ts";
import { EmbeddingRequests } from "./requests.ts";
import { createBudget, readUsage } from "./usage.ts";
import { never } from "../../../test/support/context.ts";
import { tempFolder, tempFolder as folder } from "@memslot/test-tools/files";
import {
  type Desk,
  type Outcome,
  deskIn,
  failures,
  pass,
  rateLimit,
  run,
  scriptedProvider,
  stopClock,
} from "./test/scripted-provider.ts";
import { listen } from "../../test/listen.ts";
import tables from "./test/vectors.json" with { type: "json" };

const texts = ["first text", "second"];
const how = { signal: never, reason: "watch", asked: false };

beforeEach(() => stopClock("2026-03-05T12:00:00"));
afterEach(() => void vi.useRealTimers());

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
  test("is tried again after half a second, one and two, then given up with its words", async () => {
    const { provider, requests, circuit } = deskIn(folder(), scriptedProvider({ always: failures.transient }));
    const { error } = await run(requests.embed(texts, how));
    expect(error).toBe(failures.transient);
    expect(pauses(provider)).toEqual([500, 1000, 2000]);
    expect(circuit.state()).toBeUndefined();
  });

  test("is tried again after a pause that is a fifth shorter or longer by chance", async () => {
    const { usage } = deskIn(folder());
    for (const [chance, first] of [
      [0, 400],
      [1, 600],
    ] as const) {
      const provider = scriptedProvider({ always: failures.transient });
      const circuit = new Circuit({ stateDir: folder(), fingerprint: "a", random: () => chance });
      const requests = new EmbeddingRequests({ provider, circuit, usage });
      expect((await run(requests.embed(texts, how))).error).toBe(failures.transient);
      expect(pauses(provider)).toEqual([first, 2 * first, 4 * first]);
    }
  });

  test("is over as soon as an attempt is answered; anything that is thrown may be one", async () => {
    const provider = scriptedProvider({ steps: [new TypeError("fetch failed"), failures.transient] });
    const { value } = await run(deskIn(folder(), provider).requests.embed(texts, how));
    expect(value).toHaveLength(2);
    expect(provider.sent).toHaveLength(3);
    const always = scriptedProvider({ always: new TypeError("fetch failed") });
    const { error } = await run(deskIn(folder(), always).requests.embed(texts, how));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toBe("scripted: fetch failed");
  });

  test("that says when to come back is left alone until then, but not for longer than two minutes", async () => {
    const busy = (ms: number): EmbeddingError => new EmbeddingError("transient", "503", { retryAfterMs: ms });
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
    expect(EmbeddingError.is(error, "transient")).toBe(true);
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
    expect(EmbeddingError.is(error, "rate")).toBe(true);
    expect(pauses(provider).map((ms) => Math.floor(ms / 1000))).toEqual([5, 10, 20, 40]);
    expect(tookMs).toBeLessThan(120_000);
  });

  test("of more than two minutes ends the call at once, with the time", async () => {
    const { requests } = deskIn(folder(), scriptedProvider({ always: rateLimit(150_000) }));
    const { error, tookMs } = await run(requests.embed(texts, how));
    expect(tookMs).toBe(0);
    expect(error).toMatchObject({
      kind: "rate",
      message: "scripted answered 429: slow down; no request is made before 12:03",
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

  beforeEach(() => stopClock("2026-03-05T12:00:00"));
  afterEach(() => void vi.useRealTimers());

  function fill({ requests }: Desk, signal = never): Promise<Outcome<Float32Array[]>> {
    return run(requests.embed(["one", "two"], { signal, reason: "watch", asked: false }));
  }

  function query({ requests }: Desk, text = "q"): Promise<Outcome<Float32Array>> {
    return run(requests.embedQuery(text, { signal: never, reason: "search" }));
  }

  /** A circuit that a failure for good has opened, at the time of its probe. */
  async function deskAtProbe(): Promise<Desk> {
    const desk = deskIn(folder(), undefined, 120_000);
    desk.circuit.fail(failures.quota);
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
        message: `${failures.quota.message}; it is being tried again just now`,
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
    other.circuit.fail(failures.quota);
    expect((await call).error).toMatchObject({ kind: "quota" });
    expect(desk.provider.sent).toHaveLength(1);
  });
});

describe("tracing", () => {
  const never = new AbortController().signal;
  const how = { signal: never, reason: "sync", asked: true };
  const texts = ["WORDOFNOTE one", "WORDOFNOTE two"];

  beforeEach(() => stopClock("2026-03-02T12:00:00Z"));
  afterEach(() => void vi.useRealTimers());

  describe("requests to a provider", () => {
    test("are told one by one, and what was wanted of them once", async () => {
      const [embedding, provider] = [listen("embedding"), listen("provider")];
      const { requests } = deskIn(tempFolder(), scriptedProvider({ steps: [failures.transient], says: 7 }));
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
      const { requests, usage } = deskIn(tempFolder(), scriptedProvider({ steps: [failures.auth] }));
      await run(requests.embed(texts, how));
      await run(requests.embed(texts, { ...how, asked: false }));
      const other = deskIn(tempFolder());
      await run(other.requests.embed(texts, { ...how, budget: createBudget(usage, 1) }));
      expect(embedding.map(({ errorCode }) => errorCode)).toEqual(["auth", "auth", "OVER_BUDGET"]);
      expect(provider.map(({ errorCode }) => errorCode)).toEqual(["auth"]);
    });

    test("that are called off are told as aborted, and those that hang by their time limit", async () => {
      const [embedding, provider] = [listen("embedding"), listen("provider")];
      const { requests } = deskIn(tempFolder(), scriptedProvider({ always: "hang" }));
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
