import { ProviderError, MemoryError, type SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { randomFrom } from "@memslot/test-tools/random";
import {
  budgetOf,
  budgetSpent,
  expectFilled,
  fillWith,
  scriptedRequests,
  vectorOf,
  wait,
} from "./test/scripted-requests.ts";
import { BadVectors } from "../requests/unit-vector.ts";
import { createSpaceStore, hashOf, texts } from "../../../test/support/space-store.ts";

describe("missing vectors", () => {
  test("belong to their texts when answers come in any order, with no more requests at one time than allowed", async () => {
    const random = randomFrom(7);
    const store = await createSpaceStore(texts(1000));
    const requests = scriptedRequests({
      provider: { maxBatchItems: 16 },
      answer: (_, __, signal) => wait(random.below(12), signal),
    });
    expect(await fillWith(store, requests)).toBeUndefined();
    expectFilled(store, texts(1000));
    expect(requests.mostInFlight).toBe(4);
    expect(requests.sent.length).toBe(Math.ceil(1000 / 16));
    // Two pages, and one look whether there is more.
    expect(store.calls.filter(({ method }) => method === "pendingVectors")).toHaveLength(3);
  });

  test("of texts that stand twice are made once, with the headings", async () => {
    const store = await createSpaceStore();
    for (const _ of [1, 2]) await store.add(["line"], "Trip");
    const requests = scriptedRequests();
    expect(await fillWith(store, requests)).toBeUndefined();
    expect(requests.sent).toEqual([["Trip\n\nline"]]);
    expect(store.vectors.get(hashOf("line", "Trip"))).toEqual(vectorOf("Trip\n\nline"));
  });

  test("of texts that come in meanwhile are made too", async () => {
    const store = await createSpaceStore(texts(100));
    const requests = scriptedRequests({
      answer: (_, call) => (call === 1 ? store.add(texts(3000, 10, "new")) : undefined),
    });
    expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
    expectFilled(store, [...texts(100), ...texts(3000, 10, "new")]);
  });

  test("are not paid for again when the store forgets them", async () => {
    const store = await createSpaceStore(texts(200));
    store.putVectors = async () => undefined;
    const requests = scriptedRequests();
    await fillWith(store, requests, { concurrency: 1 });
    expect(requests.sent.flat().toSorted()).toEqual(texts(200).toSorted());
  });

  test("are counted for the progress, from none to all", async () => {
    const store = await createSpaceStore(texts(100));
    await store.add(texts(50));
    const updates: SyncProgress[] = [];
    const progress = (update: SyncProgress): void => void updates.push(update);
    await fillWith(store, scriptedRequests({ provider: { maxBatchItems: 40 } }), { progress, concurrency: 1 });
    expect(updates.map(({ completed }) => completed)).toEqual([0, 40, 80, 100, 150]);
    expect(new Set(updates.map(({ total, label }) => `${total} ${label}`))).toEqual(
      new Set(["150 embedding with scripted"]),
    );
  });
});

describe("an interrupted fill", () => {
  test("stores what it has, ends with the reason of the abort, and goes on with the rest", async () => {
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
    const second = scriptedRequests();
    expect(await fillWith(store, second)).toBeUndefined();
    expect(second.sent.flat()).toHaveLength(640 - 256);
    expect(new Set([...first.passed.flat(), ...second.sent.flat()])).toEqual(new Set(texts(640)));
    expectFilled(store, texts(640));
  });
});

describe("a provider that fails", () => {
  test.each(["transient", "rate", "quota", "auth"] as const)(
    "with %s ends the run: what is on its way is stored, nothing else is sent",
    async (kind) => {
      const store = await createSpaceStore(texts(640));
      const cause = Object.assign(new Error("read"), { code: "ECONNRESET" });
      const error = new ProviderError(kind, "scripted answered: no", { cause });
      const requests = scriptedRequests({
        answer: async (_, call, signal) => {
          if (call === 3) throw error;
          await wait(20, signal);
        },
      });
      expect(await fillWith(store, requests)).toEqual({ chunks: 640 - 192, reason: "scripted answered: no", error });
      expect(requests.sent).toHaveLength(4);
      expect(store.vectors.size).toBe(192);
      expect(store.refused.size).toBe(0);
    },
  );

  test("with vectors of another length gets none of them stored", async () => {
    const store = await createSpaceStore(texts(200));
    const requests = scriptedRequests({
      vectorOf: (text) => (text === "t70 xxxxxx" ? new Float32Array(3) : vectorOf(text)),
    });
    const outcome = await fillWith(store, requests, { concurrency: 1 });
    expect(outcome).toMatchObject({ chunks: 136, error: { kind: "auth" } });
    expect(outcome?.reason).toBe(
      "the provider scripted gave vectors of 3 numbers where 4 were expected: it serves another model under the same name; name the model in memorySearch.model, or run `memslot memory index --force` to embed everything with it",
    );
    expect(requests.sent).toHaveLength(2);
    expectFilled(store, texts(64));
  });

  test("by a mistake in its code is not taken for a refusal", async () => {
    const mistake = new TypeError("undefined is not a function");
    const requests = scriptedRequests({ answer: () => Promise.reject(mistake) });
    await expect(fillWith(await createSpaceStore(texts(3)), requests)).rejects.toBe(mistake);
  });
});

test.each(["spaceStats", "pendingVectors", "putVectors"] as const)(
  "a store that fails in %s fails the fill",
  async (method) => {
    const store = await createSpaceStore(texts(640));
    const error = new ProviderError("transient", "no provider, the disk is full");
    store.before(method, () => Promise.reject(error));
    const requests = scriptedRequests({ answer: (_, __, signal) => wait(5, signal) });
    await expect(fillWith(store, requests)).rejects.toBe(error);
    expect(requests.sent.length).toBeLessThanOrEqual(4);
  },
);

describe("a budget", () => {
  test("is used to its end and not beyond, however many requests run", async () => {
    for (const [concurrency, budget] of [
      [1, 1000],
      [4, 1000],
      [4, 5],
      [3, 2505],
    ] as const) {
      const store = await createSpaceStore(texts(400, 40));
      const requests = scriptedRequests({
        provider: { maxBatchItems: 20 },
        answer: (_, __, signal) => wait(2, signal),
      });
      const given = budgetOf(() => budget);
      const outcome = await fillWith(store, requests, { concurrency, budget: given });
      const spent = given.reserved;
      expect(spent).toBeLessThanOrEqual(budget);
      expect(spent).toBeGreaterThan(budget - 10);
      expect(outcome).toEqual({ chunks: 400 - store.vectors.size, reason: budgetSpent });
      expect(store.vectors.size).toBe(spent / 10);
    }
  });

  test("that is spent stops the run before its first request, and one that is enough does not", async () => {
    const store = await createSpaceStore(texts(10, 40));
    const requests = scriptedRequests();
    expect(await fillWith(store, requests, { budget: budgetOf(() => -5) })).toEqual({
      chunks: 10,
      reason: budgetSpent,
    });
    expect(requests.sent).toEqual([]);
    expect(await fillWith(store, requests, { budget: budgetOf(() => 100) })).toBeUndefined();
    expect(await fillWith(store, requests, { budget: budgetOf(() => 0) })).toBeUndefined();
  });
});

describe("refusals", () => {
  function refusal(why: string): ProviderError {
    return new ProviderError("input", `scripted answered 400: ${why}`);
  }

  /** Refuses a request as a server with 512 tokens for a text and 2000 for a request does. */
  function strictServer(tokensOf: (text: string) => number = (text) => Math.ceil(text.length / 4)) {
    return (sent: readonly string[]): void => {
      if (sent.some((text) => tokensOf(text) > 512)) throw refusal("a text is too long");
      if (sent.reduce((sum, text) => sum + tokensOf(text), 0) > 2000) throw refusal("the request is too long");
    };
  }

  const longLine = "log ".repeat(12_800);
  const notes = texts(300, 1000);

  describe("a line of 50 KB at a provider that takes 512 tokens a text and 2000 a request", () => {
    test("that says so: gets the vector of its beginning, and no request is refused", async () => {
      const store = await createSpaceStore([...notes, longLine]);
      const requests = scriptedRequests({
        provider: { maxInputTokens: 512, maxBatchTokens: 2000 },
        answer: strictServer(),
      });
      expect(await fillWith(store, requests)).toBeUndefined();
      expect(requests.passed.length).toBe(requests.sent.length);
      const sent = requests.sent.flat().find((text) => text.startsWith("log "));
      expect(longLine.startsWith(sent ?? "?")).toBe(true);
      expect(sent?.length).toBeGreaterThan(1500);
      const { vectors } = store;
      expect(vectors.get(hashOf(longLine))).toEqual(vectorOf(sent ?? ""));
      vectors.delete(hashOf(longLine));
      expectFilled({ vectors }, notes);
    });

    test("that does not say so: it alone is quarantined, with what was answered, and stays out of later runs", async () => {
      const store = await createSpaceStore([...notes, longLine]);
      const requests = scriptedRequests({ answer: strictServer() });
      expect(await fillWith(store, requests)).toBeUndefined();
      expect([...store.refused]).toEqual([[hashOf(longLine), "scripted answered 400: a text is too long"]]);
      expectFilled(store, notes);
      expect(requests.passed.flat().toSorted()).toEqual(notes.toSorted());
      const again = scriptedRequests();
      expect(await fillWith(store, again)).toBeUndefined();
      expect(again.sent).toEqual([]);
    });

    test("whose words are of more tokens than estimated: is sent again, shorter, before it would be set aside", async () => {
      const dense = "0123456789abcdef".repeat(90);
      const store = await createSpaceStore([...texts(20), dense]);
      const requests = scriptedRequests({
        provider: { maxInputTokens: 512 },
        answer: strictServer((text) => (text.startsWith("0123") ? text.length : 5)),
      });
      expect(await fillWith(store, requests)).toBeUndefined();
      expect(store.refused.size).toBe(0);
      expect(store.vectors.get(hashOf(dense))).toEqual(vectorOf(dense.slice(0, 504)));
      expect(store.vectors.size).toBe(21);
    });
  });

  describe("requests that are too large", () => {
    test("are sent in halves, and later ones have the size that passed", async () => {
      const all = [...texts(500, 40), ...texts(500, 10, "short")];
      const store = await createSpaceStore(all);
      const requests = scriptedRequests({
        answer: (sent) => {
          if (sent.length > 20) throw refusal("at most 20 texts");
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
      expectFilled(store, all);
      // 64 and 32 were refused; all others hold 16.
      expect(requests.sent.map(({ length }) => length)).toEqual([64, 32, ...Array<number>(62).fill(16), 8]);
    });

    test("by their tokens lead to fewer tokens", async () => {
      const store = await createSpaceStore([...texts(160, 400), ...texts(4, 4000, "long")]);
      const requests = scriptedRequests({
        answer: (sent) => {
          if (sent.join("").length > 12_000) throw refusal("at most 3000 tokens");
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
      // 64 and 32 were refused. Sixteen of them have 1600 tokens, and two long ones 2000.
      expect(requests.sent.length - requests.passed.length).toBe(2);
      expect(requests.sent.slice(-5).map(({ length }) => length)).toEqual([16, 1, 1, 1, 1]);
    });

    test("for one bad text only are no reason for smaller ones", async () => {
      const store = await createSpaceStore([...texts(30), "bad", ...texts(400, 10, "more")]);
      const requests = scriptedRequests({
        answer: (sent) => {
          if (sent.includes("bad")) throw refusal("cannot be read");
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
      expect([...store.refused.keys()]).toEqual([hashOf("bad")]);
      expect(requests.sent.at(-2)).toHaveLength(64);
      expect(requests.sent.filter((sent) => sent.includes("bad"))).toHaveLength(7);
    });
  });

  describe("texts that the server fails at", () => {
    const failsAt = (isBad: (text: string) => boolean, error: () => Error) => (sent: readonly string[]) => {
      if (sent.some(isBad)) throw error();
    };
    const fault = (): Error => new ProviderError("transient", "scripted answered 500: NaN");
    /** As `requests.embed` does it: the usable vectors of the answer come with the error. */
    const unusable = (isBad: (text: string) => boolean) => (sent: readonly string[]) => {
      if (!sent.some(isBad)) return;
      throw new BadVectors(
        "a vector that is all zero",
        sent.map((text) => (isBad(text) ? undefined : vectorOf(text))),
      );
    };

    // The bounds: a plain word at the first failure and one before each text is set aside, two requests a level.
    test.each([
      ["one of 400, with an error", 1, failsAt, 2 + 2 * 6 + 2 + 6],
      ["three of 400, with an error", 3, failsAt, 3 * (2 + 2 * 6 + 2) + 4],
      ["one of 400, with an unusable vector", 1, unusable, 7 + 2],
      ["five of 400, with an unusable vector", 5, unusable, 7 + 5 * 2],
    ])(
      "%s: they alone are quarantined, in few requests, and no text is paid for twice",
      async (_, count, how, most) => {
        const all = texts(400);
        const bad = all.filter((__, index) => index % 97 === 5).slice(0, count);
        const store = await createSpaceStore(all);
        const requests = scriptedRequests({ answer: how((text) => bad.includes(text), fault) });
        expect(await fillWith(store, requests)).toBeUndefined();
        expect([...store.refused.keys()].toSorted()).toEqual(bad.map((text) => hashOf(text)).toSorted());
        expectFilled(
          store,
          all.filter((text) => !bad.includes(text)),
        );
        expect(requests.sent.length).toBeLessThanOrEqual(most);
        const paid = requests.passed.flat().filter((text) => text !== "memory");
        expect(new Set(paid).size).toBe(paid.length);
      },
    );

    test("are not blamed while the server fails at a plain word or the connection breaks", async () => {
      const broken = new ProviderError("transient", "reset", { cause: new TypeError("fetch failed") });
      for (const [error, isAlone] of [
        [fault(), false],
        [broken, true],
      ] as const) {
        const store = await createSpaceStore(texts(200));
        const requests = scriptedRequests({
          answer: (sent) => {
            if (!isAlone || sent.includes("t7 xxxxxxx")) throw error;
          },
        });
        expect(await fillWith(store, requests, { concurrency: 1 })).toMatchObject({ chunks: 200, error });
        expect([store.refused.size, requests.sent.length]).toEqual([0, isAlone ? 1 : 2]);
      }
    });

    test("of a server that goes down while they are searched for are not blamed", async () => {
      const store = await createSpaceStore(texts(64));
      const requests = scriptedRequests({
        answer: (sent, call) => {
          if (call > 2 || sent.length > 1) throw fault();
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toMatchObject({ chunks: 64 });
      expect(store.refused.size).toBe(0);
      expect(requests.sent.length).toBeLessThan(12);
    });

    test("that are all it is given are a fault of the server after eight", async () => {
      const store = await createSpaceStore(texts(300));
      const requests = scriptedRequests({ answer: failsAt((text) => text !== "memory", fault) });
      expect(await fillWith(store, requests, { concurrency: 1 })).toMatchObject({ chunks: 300 });
      expect([store.refused.size, requests.sent.length < 40]).toEqual([0, true]);
    });
  });

  describe("requests that take too long", () => {
    const late = (): ProviderError =>
      new ProviderError("transient", "no answer within 120 s", {
        cause: new MemoryError("UNAVAILABLE", "the embedding provider scripted gave no answer within 120 s"),
      });

    test("are tried once more as halves, and later ones have their size", async () => {
      const store = await createSpaceStore(texts(200));
      const requests = scriptedRequests({
        answer: (sent) => {
          if (sent.length > 40) throw late();
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
      expect(requests.sent.map(({ length }) => length)).toEqual([64, 1, 32, 32, 32, 32, 32, 32, 8]);
      expect(requests.sent[1]).toEqual(["memory"]);
    });

    test("end the run where a single word gets no answer either, and that is said while it is waited for", async () => {
      const store = await createSpaceStore(texts(200));
      const requests = scriptedRequests({ answer: () => Promise.reject(late()) });
      const labels: (string | undefined)[] = [];
      const progress = ({ label }: SyncProgress): void => void labels.push(label);
      const outcome = await fillWith(store, requests, { concurrency: 1, progress });
      expect(outcome).toMatchObject({ chunks: 200, reason: "no answer within 120 s", error: { kind: "transient" } });
      expect(requests.sent.map(({ length }) => length)).toEqual([64, 1]);
      expect(labels.at(-1)).toBe(
        "embedding with scripted (no answer within 120 s; sends a single word to test the provider, 15 s at most)",
      );
    });
  });

  describe("refusals with no text taken yet", () => {
    test("of eight texts, one by one, are a wrong setting: nothing is quarantined", async () => {
      const store = await createSpaceStore(texts(500));
      const requests = scriptedRequests({ answer: () => Promise.reject(refusal("dimensions: 9 is not allowed")) });
      const outcome = await fillWith(store, requests);
      expect(outcome).toMatchObject({ chunks: 500, error: { kind: "auth" } });
      expect(outcome?.reason).toMatch(/refuses every text.*memorySearch\.model.*dimensions: 9 is not allowed/);
      expect(requests.sent.filter(({ length }) => length === 1).length).toBeLessThan(8 + 4);
      expect(requests.sent.length).toBeLessThan(60);
      expect([store.refused.size, store.vectors.size]).toEqual([0, 0]);
    });

    test("of fewer texts are judged by one that must pass", async () => {
      for (const [isWrongSetting, kept] of [
        [true, 0],
        [false, 3],
      ] as const) {
        const store = await createSpaceStore(texts(3));
        const requests = scriptedRequests({
          answer: (sent) => {
            if (isWrongSetting || sent.join("") !== "memory") throw refusal("no");
          },
        });
        const outcome = await fillWith(store, requests);
        expect(outcome?.chunks).toBe(isWrongSetting ? 3 : undefined);
        expect(requests.sent.at(-1)).toEqual(["memory"]);
        expect(store.refused.size).toBe(kept);
        expect(store.vectors.size).toBe(0);
      }
    });

    test("are forgiven by the first text that is taken", async () => {
      const store = await createSpaceStore([...texts(7, 10, "bad"), "good", ...texts(20, 10, "bad and ")]);
      const requests = scriptedRequests({
        provider: { maxBatchItems: 1 },
        answer: (sent) => {
          if (sent[0]?.startsWith("bad")) throw refusal("no");
        },
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
      expect(store.refused.size).toBe(27);
      expectFilled(store, ["good"]);
    });

    test("and then another failure set nothing aside", async () => {
      const store = await createSpaceStore(texts(5));
      const error = new ProviderError("quota", "nothing left");
      const requests = scriptedRequests({
        provider: { maxBatchItems: 1 },
        answer: (_, call) => Promise.reject(call < 3 ? refusal("no") : error),
      });
      expect(await fillWith(store, requests, { concurrency: 1 })).toEqual({ chunks: 5, reason: "nothing left", error });
      expect(store.refused.size).toBe(0);
    });
  });

  test("an abort while a refused request is halved ends the run", async () => {
    const store = await createSpaceStore(texts(64));
    const controller = new AbortController();
    const requests = scriptedRequests({
      answer: async (_, call, signal) => {
        if (call === 1) throw refusal("too many");
        if (call === 3) controller.abort();
        if (call === 3) await wait(60_000, signal);
      },
    });
    await expect(fillWith(store, requests, { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(requests.sent.map(({ length }) => length)).toEqual([64, 32, 32]);
    expect(store.vectors.size).toBe(32);
  });
});
