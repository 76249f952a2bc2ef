import { describe, expect, test } from "vitest";
import { EmbeddingError, embeddingErrorOf, httpEmbeddingError } from "@memslot/core";

function kindOf(status: number, message = "", code?: string): string {
  return httpEmbeddingError({ provider: "openai", status, message, code }).kind;
}

describe("what an HTTP answer means", () => {
  test.each([
    [401, "Incorrect API key provided", "invalid_api_key", "auth"],
    [403, "This key was reported as leaked", undefined, "auth"],
    [404, "The model `x` does not exist", "model_not_found", "auth"],
    [400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", "auth"],
    [402, "Payment required", undefined, "quota"],
    [429, "You exceeded your current quota", "insufficient_quota", "quota"],
    [429, "Your credit balance is too low", "credit_balance_exhausted", "quota"],
    [429, "Quota exceeded for metric requests_per_day, free_tier", "RESOURCE_EXHAUSTED", "quota"],
    [429, "Rate limit reached for requests per min", "rate_limit_exceeded", "rate"],
    [429, "", undefined, "rate"],
    [400, "This model's maximum context length is 8192 tokens", undefined, "input"],
    [413, "Payload too large", undefined, "input"],
    [422, "Unprocessable", undefined, "input"],
    [408, "", undefined, "transient"],
    [500, "", undefined, "transient"],
    [502, "", undefined, "transient"],
    [503, "", undefined, "transient"],
    [302, "", undefined, "transient"],
  ])("%d %s (%s) is %s", (status, message, code, kind) => {
    expect(kindOf(status, message, code)).toBe(kind);
  });

  test("the message names provider, status, code and words; a page of HTML becomes one line", () => {
    const error = httpEmbeddingError({
      provider: "openai",
      status: 502,
      message: `<html><style>p { color: red }</style><h1>Bad   Gateway</h1>\n${"nginx ".repeat(200)}</html>`,
      code: "bad_gateway",
    });
    expect(error.message).toMatch(/^openai answered 502 bad_gateway: Bad Gateway nginx/);
    expect(error.message).not.toMatch(/[<>\n]|color/);
    expect(error.message.length).toBeLessThan(360);
  });

  test.each([
    [{ "retry-after": "60" }, 60_000],
    [{ "retry-after-ms": "1500", "retry-after": "60" }, 1500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("Retry-After in %o is %s ms", (headers, expected) => {
    const error = httpEmbeddingError({ provider: "x", status: 429, message: "", headers: new Headers(headers) });
    expect(error.retryAfterMs).toBe(expected);
  });

  test("Retry-After as a date counts from now", () => {
    const headers = new Headers({ "retry-after": new Date(Date.now() + 30_000).toUTCString() });
    const error = httpEmbeddingError({ provider: "x", status: 429, message: "", headers });
    expect(error.retryAfterMs).toBeGreaterThan(25_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(30_000);
  });
});

describe("what a provider threw", () => {
  test("keeps its kind, also from another copy of the class", () => {
    const own = new EmbeddingError("quota", "empty", { retryAfterMs: 5 });
    expect(embeddingErrorOf(own, "x")).toBe(own);
    const other = Object.assign(new Error("empty"), {
      kind: "quota",
      [Symbol.for("memslot.EmbeddingError")]: true,
    });
    expect(EmbeddingError.is(other, "quota")).toBe(true);
    expect(EmbeddingError.is(other, "auth")).toBe(false);
  });

  test("an error with a status is read as an answer, any other is transient", () => {
    expect(embeddingErrorOf(Object.assign(new Error("no"), { status: 401 }), "mine").kind).toBe("auth");
    expect(embeddingErrorOf(new TypeError("fetch failed"), "mine")).toMatchObject({
      kind: "transient",
      message: "mine: fetch failed",
    });
    for (const odd of [undefined, null, "text", 7, {}]) expect(embeddingErrorOf(odd, "mine").kind).toBe("transient");
  });
});
