import { EmbeddingError, type EmbeddingProvider, isAbort } from "@memslot/core";
import { type ApiFault, type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openAt } from "./support/open-gemini.ts";
import rows from "./data/failures.json" with { type: "json" };

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
    expect(error.message).not.toContain("test-key");
    return error;
  }

  test.each([["bomb"], ["endless"]] as const)(
    "an answer that is too large (%s) is not read to its end",
    async (how) => {
      api.fail({ match, behaviour: how });
      const failure = await failureOf(provider.embedBatch(["a note"]));
      expect(failure).toMatchObject({ kind: "transient", hasCost: true });
      expect(failure.message).toMatch(/^127\.0\.0\.1:\d+ sends more than \d\.\d MB/);
      api.fail({ match, status: 500, body: "x".repeat(3_000_000) });
      expect(await failureOf(provider.embedBatch(["a note"]))).toMatchObject({ kind: "transient" });
      expect(await provider.embedBatch(["a note"])).toHaveLength(1);
    },
  );

  test.each(rows as [string, ApiFault, { kind: string; retryAfterMs?: number; message: string }][])(
    "%s",
    async (_name, fault, { kind, retryAfterMs, message }) => {
      api.fail({ match, ...fault });
      const error = await failureOf(provider.embedBatch(["one", "two"]));
      expect(error).toMatchObject({ kind, message: expect.stringMatching(new RegExp(message)) });
      expect(error.retryAfterMs).toBe(retryAfterMs);
      expect(api.log).toHaveLength(1);
      expect(await provider.embedBatch(["after"])).toHaveLength(1);
    },
  );

  test("a redirect is not followed, wherever it leads", async () => {
    const other = await startEmbeddingApi();
    try {
      for (const target of [other.url, api.url]) {
        api.fail({ match, status: 307, headers: { location: `${target}/v1beta/x?key=1` } });
        const error = await failureOf(provider.embedQuery("where?"));
        expect(error).toMatchObject({
          kind: "auth",
          message: expect.stringContaining(`with a redirect to ${target}/v1beta/x, `),
        });
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
    expect(error).toMatchObject({ kind: "transient", message: expect.stringContaining("is the server running?") });
  });

  test("a server that speaks http alone, asked by https", async () => {
    const error = await failureOf((await openAt(api.url.replace("http:", "https:"))).embedQuery("where?"));
    expect(error).toMatchObject({ kind: "transient", message: expect.stringContaining("does not speak TLS") });
  });

  test("a name that does not exist", async () => {
    const error = await failureOf((await openAt("https://nowhere.invalid")).embedQuery("where?"));
    expect(error).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(/^cannot reach https:\/\/nowhere\.invalid \(\w+\): the/),
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
      await eventually(() => api.log.length > 0);
      controller.abort();
      expect(isAbort(await settled)).toBe(true);
      api.reset();
    }
    const reason = new Error("the deadline has passed");
    api.fail({ match, behaviour: "hang" });
    const controller = new AbortController();
    const call = provider.embedQuery("where?", { signal: controller.signal });
    const settled = call.catch((thrown: unknown) => thrown);
    await eventually(() => api.log.length === 1);
    controller.abort(reason);
    expect(await settled).toBe(reason);
  });
});
