import { EmbeddingError, type EmbeddingProvider, MemoryError, type SyncProgress } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readUsage } from "@memslot/indexing";
import { never } from "../../test/support/context.ts";
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
} from "./requests/test/scripted-provider.ts";
import { Lane } from "./lane.ts";
import { Usage } from "./requests/usage.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";

describe("a provider in trouble", () => {
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

  /** Searches and four fills at a time, again and again. Gives what did not fail. */
  async function work(desks: readonly Desk[], forMs: number, everyMs = 10_000): Promise<unknown[]> {
    const good: unknown[] = [];
    for (const end = Date.now() + forMs; Date.now() < end; await pass(everyMs)) {
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
    test.each([
      failures.quota,
      failures.auth,
      new EmbeddingError("auth", "scripted answered 403: this key has leaked"),
    ])("%s: one request in ten minutes of work, also with calls at the same time", async (failure) => {
      const provider = scriptedProvider({ always: failure });
      const [first, second] = twoDesks(provider);
      expect(await work([first], 5 * minutes)).toEqual([]);
      expect(await work([second, first], 5 * minutes)).toEqual([]);
      expect(provider.sent).toHaveLength(1);
      expect(second.circuit.state()).toMatchObject({ kind: failure.kind, reason: failure.message, failures: 1 });
    });

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
      await work(desks, 2 * 60 * minutes, minutes);
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

describe("a lane", () => {
  type Prepare = NonNullable<EmbeddingProvider["prepare"]>;

  function laneWith(own: Partial<EmbeddingProvider> & { prepare?: Prepare }): Lane {
    const stateDir = tempFolder();
    const provider: EmbeddingProvider = {
      id: "slow",
      model: "m",
      embedQuery: async () => [1, 0],
      embedBatch: async (texts) => texts.map(() => [1, 0]),
      ...own,
    };
    const usage = new Usage({ stateDir, agentId: "main" });
    return new Lane(provider, { store: createFakeStore(), stateDir, usage, closing: never });
  }

  describe("preparing", () => {
    test("is done once for all who want it, and each sees how far it is", async () => {
      let runs = 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      const lane = laneWith({
        prepare: async ({ progress }) => {
          runs++;
          await promise;
          progress({ completed: 1, total: 4, label: "downloading m.gguf" });
        },
      });
      const seen: SyncProgress[] = [];
      const first = lane.prepare({ signal: never, retry: true, progress: (update) => void seen.push(update) });
      const second = lane.prepare({ signal: never, retry: false });
      expect(lane.activity()).toBe("loading the model");
      resolve();
      await Promise.all([first, second]);
      await lane.prepare({ signal: never, retry: true });
      expect([runs, seen, lane.activity()]).toEqual([
        1,
        [{ completed: 1, total: 4, label: "downloading m.gguf" }],
        undefined,
      ]);
    });

    test("that failed is told again to searches, and tried again by a sync", async () => {
      let runs = 0;
      const lane = laneWith({
        prepare: async () => {
          if (++runs < 3) throw new EmbeddingError("transient", "the hub is away");
        },
      });
      await expect(lane.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
      await expect(lane.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
      expect(runs).toBe(1);
      await expect(lane.prepare({ signal: never, retry: true })).rejects.toThrow("the hub is away");
      await lane.prepare({ signal: never, retry: true });
      await lane.prepare({ signal: never, retry: false });
      expect(runs).toBe(3);
    });
  });

  describe("the space of a provider that does not know its dimensions", () => {
    const how = { signal: never, reason: "test", asked: true, progress: (): void => undefined };

    test("is measured with one text", async () => {
      const sent: (readonly string[])[] = [];
      const lane = laneWith({
        embedBatch: async (texts) => {
          sent.push(texts);
          return [[1, 2, 3]];
        },
      });
      expect(await lane.knownSpace()).toBeUndefined();
      expect(await lane.measureSpace(how)).toMatchObject({ dimensions: 3 });
      expect(await lane.knownSpace()).toMatchObject({ provider: "slow", model: "m", dimensions: 3 });
      expect(sent).toEqual([["memory"]]);
    });
  });
});
