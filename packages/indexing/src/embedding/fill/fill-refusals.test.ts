import { EmbeddingError, MemoryError, type SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { expectFilled, fillWith } from "../requests/test/fill-with.ts";
import { scriptedRequests, vectorOf, wait } from "../requests/test/scripted-requests.ts";
import { deskIn, scriptedProvider } from "../requests/test/scripted-provider.ts";
import { createSpaceStore, hashOf, texts } from "../../../test/support/space-store.ts";

function refusal(why: string): EmbeddingError {
  return new EmbeddingError("input", `scripted answered 400: ${why}`);
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
    expect(store.vectors.get(hashOf(longLine))).toEqual(vectorOf(sent ?? ""));
    store.vectors.delete(hashOf(longLine));
    expectFilled(store, notes);
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

  test("with the real requests, over a provider that throws as an API does", async () => {
    const strict = strictServer();
    const vectors = (sent: readonly string[]): Float32Array[] => {
      strict(sent);
      return sent.map(vectorOf);
    };
    const { requests, provider, circuit } = deskIn(tempFolder(), scriptedProvider({ always: vectors }));
    const store = await createSpaceStore([...notes, longLine]);
    expect(await fillWith(store, requests)).toBeUndefined();
    expect([...store.refused.keys()]).toEqual([hashOf(longLine)]);
    expect(store.vectors.size).toBe(notes.length);
    for (const text of notes)
      expect(Math.abs((store.vectors.get(hashOf(text))?.[0] ?? 9) - (vectorOf(text)[0] ?? 0))).toBeLessThan(1e-6);
    expect(provider.sent.length).toBeGreaterThan(0);
    expect(circuit.state()).toBeUndefined();
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
    // 64 and twice 32 were refused; all others hold 16.
    expect(requests.sent.slice(0, 7).map(({ length }) => length)).toEqual([64, 32, 16, 16, 32, 16, 16]);
    expect(requests.sent.slice(7).map(({ length }) => length)).toEqual([...Array<number>(58).fill(16), 8]);
  });

  test("by their tokens lead to fewer tokens", async () => {
    const store = await createSpaceStore([...texts(160, 400), ...texts(4, 4000, "long")]);
    const requests = scriptedRequests({
      answer: (sent) => {
        if (sent.join("").length > 12_000) throw refusal("at most 3000 tokens");
      },
    });
    expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
    // 64 and twice 32 were refused. Sixteen of them have 1600 tokens, and two long ones 2000.
    expect(requests.sent.length - requests.passed.length).toBe(3);
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

describe("requests that take too long", () => {
  const late = (): EmbeddingError =>
    new EmbeddingError("transient", "no answer within 120 s", {
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

  test("as halves too are made as small as it takes, while a single word is answered", async () => {
    const store = await createSpaceStore(texts(200));
    const requests = scriptedRequests({
      answer: (sent) => {
        if (sent.length > 1) throw late();
      },
    });
    const outcome = await fillWith(store, requests, { concurrency: 1 });
    expect(outcome).toBeUndefined();
    expectFilled(store, texts(200));
    expect(requests.sent.filter(({ length }) => length > 1).map(({ length }) => length)).toEqual([64, 32, 16, 8, 4, 2]);
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
      "embedding with scripted (no answer within 120 s; it is asked with a single word, for 15 s at most)",
    );
  });

  test("with one text end the run", async () => {
    const store = await createSpaceStore(texts(1));
    const requests = scriptedRequests({ answer: () => Promise.reject(late()) });
    expect(await fillWith(store, requests)).toMatchObject({ chunks: 1, reason: "no answer within 120 s" });
    expect(requests.sent).toHaveLength(1);
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

  test("need no such judgement where another text is taken after them", async () => {
    const store = await createSpaceStore([...texts(3, 10, "bad"), "good"]);
    const requests = scriptedRequests({
      provider: { maxBatchItems: 1 },
      answer: (sent) => {
        if (sent[0]?.startsWith("bad")) throw refusal("no");
      },
    });
    expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
    expect([store.refused.size, requests.sent.length]).toEqual([3, 4]);
  });

  test("and then another failure set nothing aside", async () => {
    const store = await createSpaceStore(texts(5));
    const error = new EmbeddingError("quota", "nothing left");
    const requests = scriptedRequests({
      provider: { maxBatchItems: 1 },
      answer: (_, call) => Promise.reject(call < 3 ? refusal("no") : error),
    });
    expect(await fillWith(store, requests, { concurrency: 1 })).toEqual({ chunks: 5, reason: "nothing left", error });
    expect(store.refused.size).toBe(0);
  });
});

test("a store that fails to quarantine fails the fill", async () => {
  const store = await createSpaceStore(["good", "bad"]);
  const error = new Error("disk full");
  store.before("quarantine", () => Promise.reject(error));
  const requests = scriptedRequests({
    answer: (sent) => (sent.includes("bad") ? Promise.reject(refusal("no")) : undefined),
  });
  await expect(fillWith(store, requests)).rejects.toBe(error);
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
  await expect(fillWith(store, requests, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
  expect(requests.sent.map(({ length }) => length)).toEqual([64, 32, 32]);
  expect(store.vectors.size).toBe(32);
});
