import { EmbeddingError } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readUsage } from "@memslot/indexing";
import { never } from "../../test/support/context.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";
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
} from "./requests/test/scripted-provider.ts";

const minutes = 60_000;
let queries = 0;

beforeEach(() => stopClock("2026-03-05T23:50:00"));
afterEach(() => void vi.useRealTimers());

function query({ requests }: Desk): Promise<Outcome<Float32Array>> {
  return run(requests.embedQuery(`query ${queries++}`, { signal: never, reason: "search" }));
}

function fill({ requests }: Desk, asked = false): Promise<Outcome<Float32Array[]>> {
  return run(requests.embed(["one", "two"], { signal: never, reason: asked ? "cli" : "watch", asked }));
}

/** Searches and four fills at a time, every ten seconds. Gives what did not fail. */
async function work(desks: readonly Desk[], forMs: number): Promise<unknown[]> {
  const good: unknown[] = [];
  for (const end = Date.now() + forMs; Date.now() < end; await pass(10_000)) {
    const calls = desks.flatMap((desk) => [query(desk), fill(desk), fill(desk), query(desk), fill(desk), fill(desk)]);
    for (const { value, error } of await Promise.all<Outcome<unknown>>(calls)) {
      if (value !== undefined) good.push(value);
      else expect(EmbeddingError.is(error)).toBe(true);
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
  test.each([failures.quota, failures.auth, new EmbeddingError("auth", "scripted answered 403: this key has leaked")])(
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
      message: `${failures.quota.message}; no request is made before 2026-03-06 00:05`,
      retryAfterMs: 15 * minutes - 1000,
    });
    await pass(10 * minutes);
    expect((await fill(desk)).error).toMatchObject({
      message: `${failures.quota.message}; no request is made before 00:05`,
    });
  });

  test("gets one request when its probe is due, and ever fewer of them", async () => {
    const provider = scriptedProvider({ always: failures.quota });
    const desks = twoDesks(provider);
    await fill(desks[0]);
    await work(desks, 2 * 60 * minutes);
    const started = provider.sent[0]?.at ?? 0;
    expect(provider.sent.map(({ at }) => Math.round((at - started) / minutes))).toEqual([0, 15, 45, 105]);
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
    expect(refused.every(({ error }) => EmbeddingError.is(error, "quota"))).toBe(true);
    expect(provider.sent).toHaveLength(2);
    expect((await query(other)).error, "nobody else is").toMatchObject({ kind: "quota" });
    provider.always = "ok";
    const filled = await Promise.all([fill(desk, true), fill(desk, true), fill(desk, true)]);
    expect(filled.every(({ value }) => value?.length === 2)).toBe(true);
    expect((await query(other)).value).toBeDefined();
  });

  test("a text that it finds fault with shows that it takes the key again", async () => {
    const provider = scriptedProvider({ always: failures.auth });
    const [desk] = twoDesks(provider);
    await fill(desk);
    provider.always = failures.input;
    expect((await fill(desk, true)).error).toBe(failures.input);
    expect(desk.circuit.state()).toBeUndefined();
  });

  test("a good answer to a request from before does not make it forgotten", async () => {
    const provider = scriptedProvider();
    const [desk] = twoDesks(provider);
    await fill(desk);
    provider.steps = [1000, failures.quota];
    const slow = fill(desk);
    expect((await fill(desk)).error).toBe(failures.quota);
    expect((await slow).value).toHaveLength(2);
    expect(desk.circuit.state()).toMatchObject({ kind: "quota" });
  });
});

describe("a rate limit", () => {
  test("of a minute: no request before its time, by this process or another", async () => {
    const provider = scriptedProvider({ steps: [rateLimit(60_000)] });
    const [first, second] = twoDesks(provider);
    const waiting = fill(first);
    await pass(100);
    const refused = await Promise.all<Outcome<unknown>>([
      query(first),
      query(second),
      fill(second),
      fill(second, true),
    ]);
    for (const { error, tookMs } of refused) {
      expect(error).toMatchObject({ kind: "rate", message: expect.stringContaining("before 23:51") });
      expect(tookMs).toBe(0);
    }
    await pass(59_000);
    expect((await fill(second)).error).toMatchObject({ kind: "rate" });
    expect(provider.sent).toHaveLength(1);
    expect((await waiting).value).toHaveLength(2);
    expect((provider.sent[1]?.at ?? 0) - (provider.sent[0]?.at ?? 0)).toBeGreaterThanOrEqual(60_000);
    expect((await query(second)).value).toBeDefined();
  });

  test("that never ends: no request of two processes comes before the time that the last one was told", async () => {
    const provider = scriptedProvider({ always: rateLimit(60_000) });
    const desks = twoDesks(provider);
    await query(desks[0]);
    expect(await work(desks, 10 * minutes)).toEqual([]);
    const gaps = provider.sent.slice(1).map(({ at }, index) => at - (provider.sent[index]?.at ?? 0));
    expect(gaps.length).toBeGreaterThan(3);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
  });
});

describe("a provider that is out of order", () => {
  test.each([
    ["NaN", (texts: readonly string[]) => texts.map(() => [1, Number.NaN, 1])],
    ["zeros", (texts: readonly string[]) => texts.map(() => [0, 0, 0])],
    ["another size", (texts: readonly string[]) => texts.map(() => [1, 2])],
    ["one vector too few", (texts: readonly string[]) => texts.slice(1).map(() => [1, 2, 3])],
  ])("gives no vector away while it answers with %s", async (_, always) => {
    const provider = scriptedProvider({ dimensions: 3, always });
    const [desk] = twoDesks(provider);
    expect(await work([desk], minutes)).toEqual([]);
    expect(desk.circuit.state()).toBeUndefined();
    provider.always = (texts) => texts.map(() => [3, 0, 4]);
    expect(await work([desk], 1)).toHaveLength(6);
  });

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
