import { EmbeddingError, type EmbeddingProvider, isAbort } from "@memslot/core";
import { type ApiFault, type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  dayIsSpent,
  keyExpired,
  minuteIsFull,
  regionMinuteIsFull,
  wrongCountry,
  wrongSetting,
} from "./support/google-errors.ts";
import { openAt } from "./support/open-gemini.ts";

const match = ":batchEmbedContents";

describe("failures", () => {
  let api: EmbeddingApi;
  let provider: EmbeddingProvider;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions: 64, apiKey: "test-key" });
    provider = await openAt(api.url);
  });
  afterAll(() => api.close());
  beforeEach(() => api.reset());

  async function failureOf(call: Promise<unknown>): Promise<EmbeddingError> {
    const error: unknown = await call.then(
      () => new Error("it did not fail"),
      (thrown: unknown) => thrown,
    );
    if (!EmbeddingError.is(error)) throw error;
    expect(error.message).toMatch(/^gemini/);
    expect(error.message).not.toContain("test-key");
    return error;
  }

  test.each([["bomb"], ["endless"]] as const)(
    "an answer that is too large (%s) is not read to its end",
    async (how) => {
      api.fail({ match, behaviour: how });
      const failure = await failureOf(provider.embedBatch(["a note"]));
      expect(failure).toMatchObject({ kind: "transient", hasCost: true });
      expect(failure.message).toMatch(/^gemini: 127\.0\.0\.1:\d+ sends more than \d\.\d MB/);
      api.fail({ match, status: 500, body: "x".repeat(3_000_000) });
      expect(await failureOf(provider.embedBatch(["a note"]))).toMatchObject({ kind: "transient" });
      expect(await provider.embedBatch(["a note"])).toHaveLength(1);
    },
  );

  test.each<[name: string, fault: ApiFault, expected: { kind: string; retryAfterMs?: number; message: RegExp }]>([
    ["a text that cannot be read", { status: 400 }, { kind: "input", message: /400 INVALID_ARGUMENT/ }],
    [
      "a wrong key",
      { status: 400, body: keyExpired },
      { kind: "auth", message: /400 INVALID_ARGUMENT: API key expired/ },
    ],
    ["no service in this country", { status: 400, body: wrongCountry }, { kind: "auth", message: /User location/ }],
    [
      "a setting that the model does not take",
      { status: 400, body: wrongSetting },
      { kind: "auth", message: /output_dimensionality/ },
    ],
    ["an unknown key", { status: 401 }, { kind: "auth", message: /401 UNAUTHENTICATED/ }],
    ["an empty account", { status: 402, body: "Payment required" }, { kind: "quota", message: /402: Payment/ }],
    ["no permission", { status: 403 }, { kind: "auth", message: /403 PERMISSION_DENIED/ }],
    ["a model that does not exist", { status: 404 }, { kind: "auth", message: /404 NOT_FOUND/ }],
    ["a request that is too large", { status: 413, body: "too large" }, { kind: "input", message: /413: too large/ }],
    [
      "a full minute",
      { status: 429, body: minuteIsFull },
      { kind: "rate", retryAfterMs: 23_500, message: /429 RESOURCE_EXHAUSTED: You exceeded/ },
    ],
    [
      "a full minute of a region",
      { status: 429, body: regionMinuteIsFull },
      { kind: "rate", message: /per minute for a region/ },
    ],
    ["a spent day", { status: 429, body: dayIsSpent }, { kind: "quota", message: /429 RESOURCE_EXHAUSTED/ }],
    [
      "a limit with the delay in its words",
      { status: 429, body: { error: { message: "Please retry in 10.689924287s." } } },
      { kind: "rate", retryAfterMs: 10_690, message: /retry in/ },
    ],
    [
      "a limit with the delay in a header",
      { status: 429, headers: { "retry-after": "7" } },
      { kind: "rate", retryAfterMs: 7000, message: /429/ },
    ],
    [
      "no free use at all",
      { status: 429, body: { error: { message: "* Quota exceeded for metric: x_free_tier_requests, limit: 0" } } },
      { kind: "quota", message: /limit: 0/ },
    ],
    [
      "credits that are used up",
      { status: 429, body: { error: { message: "Your prepayment credits are depleted." } } },
      { kind: "quota", message: /depleted/ },
    ],
    [
      "a gateway's own limit",
      { status: 429, body: { message: "slow down" } },
      { kind: "rate", message: /429: slow down/ },
    ],
    ["a fault of the server", { status: 500 }, { kind: "transient", message: /500 INTERNAL/ }],
    [
      "an overload",
      { status: 503, headers: { "retry-after": "2" } },
      { kind: "transient", retryAfterMs: 2000, message: /503 UNAVAILABLE/ },
    ],
    [
      "the page of a proxy",
      { behaviour: "html" },
      { kind: "transient", message: /^gemini answered 502: [^<]*502 Bad Gateway[^<]*$/ },
    ],
    [
      "a page in place of an answer",
      { body: "<html><title>Log in</title><p>Please log in" },
      { kind: "transient", message: /^gemini answered 200: Log in Please log in$/ },
    ],
    ["an answer that is no JSON", { body: "embeddings" }, { kind: "transient", message: /no JSON/ }],
    ["an answer to something else", { body: { candidates: [] } }, { kind: "transient", message: /holds no vectors/ }],
    [
      "an answer that is null",
      { body: "null", headers: { "content-type": "application/json" } },
      { kind: "transient", message: /cannot be read/ },
    ],
    [
      "vectors that are none",
      { body: { embeddings: [{}, {}] } },
      { kind: "transient", message: /a vector without numbers/ },
    ],
    ["a vector too few", { behaviour: "short-count" }, { kind: "transient", message: /1 vectors for 2 texts/ }],
    [
      "an answer that breaks off",
      { behaviour: "disconnect" },
      { kind: "transient", message: /^gemini: 127\.0\.0\.1:\d+ broke off the connection$/ },
    ],
    [
      "a server that tells the key",
      { status: 403, body: { error: { message: "test-key is not allowed" } } },
      { kind: "auth", message: /\(hidden\) is not allowed/ },
    ],
  ])("%s", async (_name, fault, { kind, retryAfterMs, message }) => {
    api.fail({ match, ...fault });
    const error = await failureOf(provider.embedBatch(["one", "two"]));
    expect(error).toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(error.retryAfterMs).toBe(retryAfterMs);
    expect(api.log).toHaveLength(1);
    expect(await provider.embedBatch(["after"])).toHaveLength(1);
  });

  test("a redirect is not followed, wherever it leads", async () => {
    const other = await startEmbeddingApi();
    try {
      for (const target of [other.url, api.url]) {
        api.fail({ match, status: 307, headers: { location: `${target}/v1beta/x?key=1` } });
        const error = await failureOf(provider.embedQuery("where?"));
        expect(error).toMatchObject({ kind: "auth", message: expect.stringContaining(`points to ${target}, `) });
        expect(error.message).toContain("correct remote.baseUrl");
      }
      expect(other.log).toHaveLength(0);
      expect(api.log).toHaveLength(2);
    } finally {
      await other.close();
    }
  });

  test("a server that is not there", async () => {
    const gone = await startEmbeddingApi();
    await gone.close();
    const error = await failureOf((await openAt(gone.url)).embedQuery("where?"));
    expect(error).toMatchObject({ kind: "transient", message: expect.stringContaining("takes no connections") });
  });

  test("a server that speaks http alone, asked by https", async () => {
    const error = await failureOf((await openAt(api.url.replace("http:", "https:"))).embedQuery("where?"));
    expect(error).toMatchObject({ kind: "transient", message: expect.stringContaining("does not speak https") });
  });

  test("a name that does not exist", async () => {
    const error = await failureOf((await openAt("https://nowhere.invalid")).embedQuery("where?"));
    expect(error).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(/^gemini: nowhere\.invalid cannot be found/),
    });
  });

  test("the host ends a call that gets no answer, with its own reason", async () => {
    for (const behaviour of ["hang", "drip"] as const) {
      api.fail({ match, behaviour });
      const controller = new AbortController();
      const call = provider.embedBatch(["one"], { signal: controller.signal });
      const settled = call.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      await expect.poll(() => api.log.length).toBeGreaterThan(0);
      controller.abort();
      expect(isAbort(await settled)).toBe(true);
      api.reset();
    }
    const reason = new Error("the deadline has passed");
    api.fail({ match, behaviour: "hang" });
    const controller = new AbortController();
    const call = provider.embedQuery("where?", { signal: controller.signal });
    const settled = call.catch((thrown: unknown) => thrown);
    await expect.poll(() => api.log.length).toBe(1);
    controller.abort(reason);
    expect(await settled).toBe(reason);
  });
});
