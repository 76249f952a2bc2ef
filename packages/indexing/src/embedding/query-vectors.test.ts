import { EmbeddingError, MemoryError } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { never } from "../../test/support/context.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";
import {
  type Desk,
  deskIn,
  failures,
  pass,
  rateLimit,
  run,
  scriptedProvider,
  stopClock,
} from "./requests/test/scripted-provider.ts";

const how = { signal: never, reason: "search" };

beforeEach(() => stopClock("2026-03-05T12:00:00"));
afterEach(() => void vi.useRealTimers());

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

  test.each([
    ["not finite", () => [[1, 2, 3, Number.NaN]], "that is not finite"],
    ["all zero", () => [[0, 0, 0, 0]], "that is all zero"],
    ["of another size", () => [[1, 2]], "of 2 numbers where 4 were expected"],
  ])("is not one that is %s", async (_, always, words) => {
    const desk = deskIn(folder(), scriptedProvider({ dimensions: 4, always }));
    const { value, error } = await run(desk.requests.embedQuery("q", how));
    expect(value).toBeUndefined();
    expect((error as Error).message).toContain(words);
    expect(askedFor(desk)).toHaveLength(3);
    desk.provider.always = "ok";
    expect((await run(desk.requests.embedQuery("q", how))).value, "nothing bad was kept").toHaveLength(4);
  });
});

describe("its patience", () => {
  test("is 8 seconds; the request goes on, and a repeat gets its answer", async () => {
    const desk = deskIn(folder(), scriptedProvider({ steps: [19_000] }));
    const { error, tookMs } = await run(desk.requests.embedQuery("slow", how));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
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

  test("can be another", async () => {
    const { requests } = deskIn(folder(), scriptedProvider({ always: "hang" }));
    const { error, tookMs } = await run(requests.embedQuery("q", { ...how, patienceMs: 500 }));
    expect((error as Error).message).toContain("no answer within 0.5 s");
    expect(tookMs).toBe(500);
  });

  test("holds also while the first request of all, or a probe, is waited for", async () => {
    const { requests, circuit } = deskIn(folder(), scriptedProvider({ always: "hang" }));
    void run(requests.embed(["slow batch"], { ...how, asked: false })).catch(() => undefined);
    expect((await run(requests.embedQuery("q", how))).tookMs).toBe(8000);
    circuit.fail(failures.quota);
    await pass(15 * 60_000);
    const probe = run(requests.embedQuery("probe", how));
    expect((await run(requests.embedQuery("other", how))).tookMs).toBe(8000);
    expect((await probe).tookMs).toBe(8000);
    await requests.close();
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

  test("right before a repeat does not spoil the repeat", async () => {
    const desk = deskIn(folder(), scriptedProvider({ steps: ["hang"] }));
    const controller = new AbortController();
    const call = desk.requests.embedQuery("q", { ...how, signal: controller.signal });
    const ended = call.catch(() => "aborted");
    await pass(100);
    controller.abort();
    expect(await ended).toBe("aborted");
    expect((await run(desk.requests.embedQuery("q", how))).value).toHaveLength(4);
    expect(askedFor(desk)).toEqual(["q", "q"]);
  });

  test("leaves the request alone when somebody else wants its answer for the next time", async () => {
    const desk = deskIn(folder(), scriptedProvider({ always: 10_000 }));
    const controller = new AbortController();
    await run(desk.requests.embedQuery("q", { ...how, patienceMs: 500 }));
    const call = run(desk.requests.embedQuery("q", { ...how, signal: controller.signal }));
    await pass(100);
    controller.abort();
    await call;
    expect(desk.provider.sent[0]?.signal?.aborted).toBe(false);
    await pass(10_000);
    expect((await run(desk.requests.embedQuery("q", how))).tookMs).toBe(0);
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
