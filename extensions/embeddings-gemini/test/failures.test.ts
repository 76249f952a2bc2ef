import { ProviderError, type EmbeddingProvider } from "@memslot/core";
import { type ApiFault, type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
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

  async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
    const error: unknown = await call.then(
      () => new Error("it did not fail"),
      (thrown: unknown) => thrown,
    );
    if (!ProviderError.is(error)) throw error;
    expect(error.message).not.toContain("test-key");
    return error;
  }

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
});
