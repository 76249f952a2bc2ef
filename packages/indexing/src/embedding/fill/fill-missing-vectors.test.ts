import { ProviderError, MemoryError, type SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { randomFrom } from "@memslot/test-tools/random";
import {
  budgetOf,
  budgetSpent,
  expectFilled,
  fillWith,
  type ScriptedRequests,
  scriptedRequests,
  vectorOf,
  wait,
} from "./test/scripted-requests.ts";
import { BadVectors } from "../requests/unit-vector.ts";
import { createSpaceStore, hashOf, type SpaceStore, texts } from "../../../test/support/space-store.ts";
import type { FillOutcome } from "./fill-missing-vectors.ts";

interface Filled {
  store: SpaceStore;
  requests: ScriptedRequests;
  outcome: FillOutcome | undefined;
  /** Texts of each request. */
  sizes: number[];
}

/** Fills a store with these texts, or one that exists. */
async function fill(
  given: readonly string[] | SpaceStore,
  script: Parameters<typeof scriptedRequests>[0] = {},
  change: Parameters<typeof fillWith>[2] = {},
): Promise<Filled> {
  const store = "vectors" in given ? given : await createSpaceStore(given);
  const requests = scriptedRequests(script);
  const outcome = await fillWith(store, requests, change);
  return { store, requests, outcome, sizes: requests.sent.map(({ length }) => length) };
}

const oneByOne = { concurrency: 1 };
const progressOf = (updates: SyncProgress[]) => ({ progress: (update: SyncProgress) => void updates.push(update) });

describe("missing vectors", () => {
  test("are stored for their texts whatever the order of the answers, with as many requests at once as allowed", async () => {
    const random = randomFrom(7);
    const { store, requests, outcome } = await fill(texts(1000), {
      provider: { maxBatchItems: 16 },
      answer: (_, __, signal) => wait(random.below(12), signal),
    });
    expect(outcome).toBeUndefined();
    expectFilled(store, texts(1000));
    expect([requests.mostInFlight, requests.sent.length]).toEqual([4, Math.ceil(1000 / 16)]);
    // Two pages, and a read that finds no more.
    expect(store.calls.filter(({ method }) => method === "pendingVectors")).toHaveLength(3);
  });

  test("of equal texts are made once, with the headings", async () => {
    const store = await createSpaceStore();
    for (const _ of [1, 2]) await store.add(["line"], "Trip");
    const { requests, outcome } = await fill(store);
    expect([outcome, requests.sent]).toEqual([undefined, [["Trip\n\nline"]]]);
    expect(store.vectors.get(hashOf("line", "Trip"))).toEqual(vectorOf("Trip\n\nline"));
  });

  test("of texts that are added meanwhile are made, too", async () => {
    const store = await createSpaceStore(texts(100));
    const answer = (_: unknown, call: number): unknown => (call === 1 ? store.add(texts(3000, 10, "new")) : undefined);
    expect((await fill(store, { answer }, oneByOne)).outcome).toBeUndefined();
    expectFilled(store, [...texts(100), ...texts(3000, 10, "new")]);
  });

  test("are not paid for again if the store forgets them", async () => {
    const store = await createSpaceStore(texts(200));
    store.putVectors = async () => undefined;
    const { requests } = await fill(store, {}, oneByOne);
    expect(requests.sent.flat().toSorted()).toEqual(texts(200).toSorted());
  });

  test("are counted by the progress, from none to all", async () => {
    const store = await createSpaceStore(texts(100));
    await store.add(texts(50));
    const updates: SyncProgress[] = [];
    await fill(store, { provider: { maxBatchItems: 40 } }, { ...oneByOne, ...progressOf(updates) });
    const [total, label] = [150, "embedding with scripted"];
    expect(updates).toEqual([0, 40, 80, 100, 150].map((completed) => ({ completed, total, label })));
  });
});

test("an aborted fill stores what it has, throws the reason, and the next one makes the rest", async () => {
  const store = await createSpaceStore(texts(640));
  const controller = new AbortController();
  const reason = new Error("closing");
  const first = scriptedRequests({
    answer: async (_, call, signal) => {
      if (call === 5) controller.abort(reason);
      if (call > 4) await wait(60_000, signal);
    },
  });
  await expect(fillWith(store, first, { signal: controller.signal, concurrency: 2 })).rejects.toBe(reason);
  expect(store.vectors.size).toBe(256);
  const { requests, outcome } = await fill(store);
  expect(outcome).toBeUndefined();
  expect(requests.sent.flat()).toHaveLength(640 - 256);
  expectFilled(store, texts(640));
});

describe("a provider that fails", () => {
  test.each(["transient", "rate", "quota", "auth"] as const)(
    "with %s ends the fill: requests in flight are stored, nothing else is sent",
    async (kind) => {
      const cause = Object.assign(new Error("read"), { code: "ECONNRESET" });
      const error = new ProviderError(kind, "scripted answered: no", { cause });
      const { store, requests, outcome } = await fill(texts(640), {
        answer: async (_, call, signal) => {
          if (call === 3) throw error;
          await wait(20, signal);
        },
      });
      expect(outcome).toMatchObject({ chunks: 640 - 192, reason: "scripted answered: no", error });
      expect([requests.sent.length, store.vectors.size, store.refused.size]).toEqual([4, 192, 0]);
    },
  );

  test("with vectors of another length gets none of them stored", async () => {
    const otherAt70 = (text: string): Float32Array => (text === "t70 xxxxxx" ? new Float32Array(3) : vectorOf(text));
    const { store, requests, outcome } = await fill(texts(200), { vectorOf: otherAt70 }, oneByOne);
    expect(outcome).toMatchObject({
      chunks: 136,
      error: { kind: "auth" },
      reason:
        "the provider scripted gave vectors of 3 numbers where 4 were expected: it serves another model under the same name; name the model in memorySearch.model, or run `memslot memory index --force` to embed everything with it",
    });
    expect(requests.sent).toHaveLength(2);
    expectFilled(store, texts(64));
  });

  test("by a mistake in its code is not taken for a refusal", async () => {
    const mistake = new TypeError("undefined is not a function");
    await expect(fill(texts(3), { answer: () => Promise.reject(mistake) })).rejects.toBe(mistake);
  });
});

test.each(["spaceStats", "pendingVectors", "putVectors"] as const)(
  "a store that fails in %s fails the fill",
  async (method) => {
    const store = await createSpaceStore(texts(640));
    const error = new ProviderError("transient", "no provider, the disk is full");
    store.before(method, () => Promise.reject(error));
    await expect(fill(store, { answer: (_, __, signal) => wait(5, signal) })).rejects.toBe(error);
  },
);

describe("a budget", () => {
  test.each([
    [1, 1000],
    [4, 1000],
    [4, 5],
    [3, 2505],
  ])("is used up and not exceeded by %i concurrent requests: %i tokens", async (concurrency, tokens) => {
    const budget = budgetOf(() => tokens);
    const script = {
      provider: { maxBatchItems: 20 },
      answer: (_: unknown, __: unknown, on: AbortSignal) => wait(2, on),
    };
    const { store, outcome } = await fill(texts(400, 40), script, { concurrency, budget });
    expect(budget.reserved).toBeLessThanOrEqual(tokens);
    expect(budget.reserved).toBeGreaterThan(tokens - 10);
    expect(outcome).toEqual({ chunks: 400 - store.vectors.size, reason: budgetSpent });
    expect(store.vectors.size).toBe(budget.reserved / 10);
  });

  test("that is spent stops the fill before its first request, unless nothing is missing", async () => {
    const { store, requests, outcome } = await fill(texts(10, 40), {}, { budget: budgetOf(() => -5) });
    expect([outcome, requests.sent]).toEqual([{ chunks: 10, reason: budgetSpent }, []]);
    for (const tokens of [100, 0])
      expect((await fill(store, {}, { budget: budgetOf(() => tokens) })).outcome).toBeUndefined();
  });
});

function refusal(why: string): ProviderError {
  return new ProviderError("input", `scripted answered 400: ${why}`);
}

/** A server with 512 tokens for a text and 2000 for a request. */
function strictServer(tokensOf: (text: string) => number = (text) => Math.ceil(text.length / 4)) {
  return (sent: readonly string[]): void => {
    if (sent.some((text) => tokensOf(text) > 512)) throw refusal("a text is too long");
    if (sent.reduce((sum, text) => sum + tokensOf(text), 0) > 2000) throw refusal("the request is too long");
  };
}

const refuses = (isBad: (sent: readonly string[]) => boolean, error: () => Error) => (sent: readonly string[]) => {
  if (isBad(sent)) throw error();
};

describe("a text that is too long", () => {
  const longLine = "log ".repeat(12_800);
  const notes = texts(300, 1000);

  test("for the stated limit gets the vector of its beginning, and no request is refused", async () => {
    const provider = { maxInputTokens: 512, maxBatchTokens: 2000 };
    const { store, requests, outcome } = await fill([...notes, longLine], { provider, answer: strictServer() });
    expect([outcome, requests.passed.length]).toEqual([undefined, requests.sent.length]);
    const sent = requests.sent.flat().find((text) => text.startsWith("log ")) ?? "?";
    expect([longLine.startsWith(sent), sent.length > 1500]).toEqual([true, true]);
    const { vectors } = store;
    expect(vectors.get(hashOf(longLine))).toEqual(vectorOf(sent));
    vectors.delete(hashOf(longLine));
    expectFilled({ vectors }, notes);
  });

  test("for an unstated limit is quarantined alone, with the reason, and not sent again", async () => {
    const { store, requests, outcome } = await fill([...notes, longLine], { answer: strictServer() });
    expect(outcome).toBeUndefined();
    expect([...store.refused]).toEqual([[hashOf(longLine), "scripted answered 400: a text is too long"]]);
    expectFilled(store, notes);
    expect(requests.passed.flat().toSorted()).toEqual(notes.toSorted());
    const again = await fill(store);
    expect([again.outcome, again.requests.sent]).toEqual([undefined, []]);
  });

  test("as it has more tokens than estimated is shortened and sent again", async () => {
    const dense = "0123456789abcdef".repeat(90);
    const answer = strictServer((text) => (text.startsWith("0123") ? text.length : 5));
    const { store, outcome } = await fill([...texts(20), dense], { provider: { maxInputTokens: 512 }, answer });
    expect([outcome, store.refused.size, store.vectors.size]).toEqual([undefined, 0, 21]);
    expect(store.vectors.get(hashOf(dense))).toEqual(vectorOf(dense.slice(0, 504)));
  });
});

describe("a request that is too large", () => {
  test("is halved, and later ones have the accepted size", async () => {
    const all = [...texts(500, 40), ...texts(500, 10, "short")];
    const answer = refuses(
      (sent) => sent.length > 20,
      () => refusal("at most 20 texts"),
    );
    const { store, sizes, outcome } = await fill(all, { answer }, oneByOne);
    expect(outcome).toBeUndefined();
    expectFilled(store, all);
    expect(sizes).toEqual([64, 32, ...Array<number>(62).fill(16), 8]);
  });

  test("by its tokens leads to fewer tokens", async () => {
    const answer = refuses(
      (sent) => sent.join("").length > 12_000,
      () => refusal("at most 3000 tokens"),
    );
    const all = [...texts(160, 400), ...texts(4, 4000, "long")];
    const { requests, sizes, outcome } = await fill(all, { answer }, oneByOne);
    expect(outcome).toBeUndefined();
    // 64 and 32 were refused. 16 texts have 1600 tokens, two long ones 2000.
    expect(sizes.length - requests.passed.length).toBe(2);
    expect(sizes.slice(-5)).toEqual([16, 1, 1, 1, 1]);
  });

  test("differs from one with a bad text, which leaves the size as it is", async () => {
    const answer = refuses(
      (sent) => sent.includes("bad"),
      () => refusal("cannot be read"),
    );
    const all = [...texts(30), "bad", ...texts(400, 10, "more")];
    const { store, requests, sizes } = await fill(all, { answer }, oneByOne);
    expect([...store.refused.keys()]).toEqual([hashOf("bad")]);
    expect(sizes.at(-2)).toBe(64);
    expect(requests.sent.filter((sent) => sent.includes("bad"))).toHaveLength(7);
  });

  const late = (): ProviderError =>
    new ProviderError("transient", "no answer within 120 s", {
      cause: new MemoryError("UNAVAILABLE", "the embedding provider scripted did not answer within 120 s"),
    });

  test("and takes too long is halved once the server answers a plain word", async () => {
    const { sizes, requests } = await fill(
      texts(200),
      { answer: refuses(({ length }) => length > 40, late) },
      oneByOne,
    );
    expect(sizes).toEqual([64, 1, 32, 32, 32, 32, 32, 32, 8]);
    expect(requests.sent[1]).toEqual(["memory"]);
  });

  test("ends the fill if a plain word gets no answer either, and the progress reports the test", async () => {
    const updates: SyncProgress[] = [];
    const change = { ...oneByOne, ...progressOf(updates) };
    const { sizes, outcome } = await fill(texts(200), { answer: () => Promise.reject(late()) }, change);
    expect(outcome).toMatchObject({ chunks: 200, reason: "no answer within 120 s", error: { kind: "transient" } });
    expect(sizes).toEqual([64, 1]);
    expect(updates.at(-1)?.label).toBe(
      "embedding with scripted (no answer within 120 s; sends a single word to test the provider, 15 s at most)",
    );
  });
});

describe("a text that the server fails at", () => {
  const fault = (): Error => new ProviderError("transient", "scripted answered 500: NaN");
  const failsAt = (isBad: (text: string) => boolean) => refuses((sent) => sent.some(isBad), fault);
  /** As `requests.embed` does: the usable vectors of the answer come with the error. */
  const unusableAt = (isBad: (text: string) => boolean) => (sent: readonly string[]) => {
    const vectors = sent.map((text) => (isBad(text) ? undefined : vectorOf(text)));
    if (sent.some(isBad)) throw new BadVectors("a vector that is all zero", vectors);
  };

  // A plain word at the first failure and before each quarantine, two requests a level.
  test.each([
    ["one of 400, with an error", 1, failsAt, 2 + 2 * 6 + 2 + 6],
    ["three of 400, with an error", 3, failsAt, 3 * (2 + 2 * 6 + 2) + 4],
    ["one of 400, with an unusable vector", 1, unusableAt, 7 + 2],
    ["five of 400, with an unusable vector", 5, unusableAt, 7 + 5 * 2],
  ])("%s: is quarantined alone, in few requests, and no text is paid for twice", async (_, count, how, most) => {
    const bad = texts(400)
      .filter((__, index) => index % 97 === 5)
      .slice(0, count);
    const { store, requests, outcome } = await fill(texts(400), { answer: how((text) => bad.includes(text)) });
    expect(outcome).toBeUndefined();
    expect([...store.refused.keys()].toSorted()).toEqual(bad.map((text) => hashOf(text)).toSorted());
    expectFilled(
      store,
      texts(400).filter((text) => !bad.includes(text)),
    );
    expect(requests.sent.length).toBeLessThanOrEqual(most);
    const paid = requests.passed.flat().filter((text) => text !== "memory");
    expect(new Set(paid).size).toBe(paid.length);
  });

  const broken = new ProviderError("transient", "reset", { cause: new TypeError("fetch failed") });

  test.each<[name: string, count: number, answer: (sent: readonly string[], call: number) => void, most: number]>([
    ["the server fails at a plain word, too", 200, refuses(() => true, fault), 2],
    [
      "the connection breaks",
      200,
      refuses(
        (sent) => sent.includes("t7 xxxxxxx"),
        () => broken,
      ),
      1,
    ],
    ["the server goes down meanwhile", 64, (sent, call) => refuses(() => call > 2 || sent.length > 1, fault)(sent), 11],
    ["the server fails at eight texts and accepts none", 300, failsAt((text) => text !== "memory"), 39],
  ])("is not quarantined if %s", async (_, count, answer, most) => {
    const { store, requests, outcome } = await fill(texts(count), { answer }, oneByOne);
    expect(outcome).toMatchObject({ chunks: count, error: { kind: "transient" } });
    expect(store.refused.size).toBe(0);
    expect(requests.sent.length).toBeLessThanOrEqual(most);
  });
});

describe("refusals before any accepted text", () => {
  test("of eight texts are a wrong setting: nothing is quarantined", async () => {
    const answer = (): Promise<never> => Promise.reject(refusal("dimensions: 9 is not allowed"));
    const { store, sizes, outcome } = await fill(texts(500), { answer });
    expect(outcome).toMatchObject({ chunks: 500, error: { kind: "auth" } });
    expect(outcome?.reason).toMatch(/refuses every text.*memorySearch\.model.*dimensions: 9 is not allowed/);
    expect(sizes.filter((size) => size === 1).length).toBeLessThan(8 + 4);
    expect(sizes.length).toBeLessThan(60);
    expect([store.refused.size, store.vectors.size]).toEqual([0, 0]);
  });

  test.each([
    [true, 0],
    [false, 3],
  ])("of fewer texts are judged by a plain word (wrong setting: %s)", async (isWrongSetting, quarantined) => {
    const answer = refuses(
      (sent) => isWrongSetting || sent.join("") !== "memory",
      () => refusal("no"),
    );
    const { store, requests, outcome } = await fill(texts(3), { answer });
    expect(outcome?.chunks).toBe(isWrongSetting ? 3 : undefined);
    expect(requests.sent.at(-1)).toEqual(["memory"]);
    expect([store.refused.size, store.vectors.size]).toEqual([quarantined, 0]);
  });

  test("are quarantined after the first accepted text", async () => {
    const answer = refuses(
      ([text]) => text?.startsWith("bad") === true,
      () => refusal("no"),
    );
    const all = [...texts(7, 10, "bad"), "good", ...texts(20, 10, "bad and ")];
    const { store, outcome } = await fill(all, { provider: { maxBatchItems: 1 }, answer }, oneByOne);
    expect([outcome, store.refused.size]).toEqual([undefined, 27]);
    expectFilled(store, ["good"]);
  });

  test("and then another failure quarantine nothing", async () => {
    const error = new ProviderError("quota", "nothing left");
    const answer = (_: unknown, call: number): Promise<never> => Promise.reject(call < 3 ? refusal("no") : error);
    const { store, outcome } = await fill(texts(5), { provider: { maxBatchItems: 1 }, answer }, oneByOne);
    expect(outcome).toMatchObject({ chunks: 5, reason: "nothing left", error });
    expect(store.refused.size).toBe(0);
  });
});

test("an abort while a refused request is halved ends the fill", async () => {
  const store = await createSpaceStore(texts(64));
  const controller = new AbortController();
  const requests = scriptedRequests({
    answer: async (_, call, signal) => {
      if (call === 1) throw refusal("too many");
      if (call === 3) controller.abort();
      if (call === 3) await wait(60_000, signal);
    },
  });
  const filling = fillWith(store, requests, { signal: controller.signal });
  await expect(filling).rejects.toMatchObject({ name: "AbortError" });
  expect([requests.sent.map(({ length }) => length), store.vectors.size]).toEqual([[64, 32, 32], 32]);
});
