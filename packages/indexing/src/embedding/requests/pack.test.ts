import { describe, expect, test } from "vitest";
import {
  countFitting,
  countRequests,
  embeddingText,
  packText,
  type RequestLimits,
  requestLimits,
  shortenText,
  type TextWeight,
} from "./pack.ts";
import { estimateTokens } from "../../text/split-by-tokens.ts";
import { unitVector } from "./unit-vector.ts";
import tables from "./test/vectors.json" with { type: "json" };

const chunk = (text: string, context = ""): { hash: string; context: string; text: string } => {
  return { hash: "h", context, text };
};

describe("the text of a chunk", () => {
  test("is its headings, a blank line and its lines", () => {
    expect(embeddingText(chunk("line", "2026-03-05 > Trip"))).toBe("2026-03-05 > Trip\n\nline");
    expect(embeddingText(chunk("line"))).toBe("line");
    expect(packText(chunk("line", "Trip"), {})).toEqual({ hash: "h", text: "Trip\n\nline", tokens: 2.5, bytes: 10 });
  });

  test.each([[{ maxInputTokens: 512 }], [{ maxBatchTokens: 512 }], [{ maxInputTokens: 900, maxBatchTokens: 512 }]])(
    "is cut below the limit %j only",
    (limits) => {
      const long = "word ".repeat(1000);
      for (const enough of [{}, { maxInputTokens: 2000 }]) expect(packText(chunk(long), enough).text).toBe(long);
      const { text, tokens } = packText(chunk(long, "Trip"), limits);
      expect(`Trip\n\n${long}`.startsWith(text)).toBe(true);
      expect(tokens).toBe(estimateTokens(text));
      expect(tokens).toBeLessThanOrEqual(512 * 0.9);
      expect(tokens).toBeGreaterThan(512 * 0.7);
    },
  );

  test("is never cut inside a character", () => {
    for (let tokens = 1; tokens < 12; tokens++) {
      expect(packText(chunk("👍".repeat(50)), { maxInputTokens: tokens }).text.isWellFormed()).toBe(true);
      const shorter = shortenText(packText(chunk("é👍猫".repeat(50)), {}), { maxInputTokens: 8 + tokens });
      expect(shorter?.text.isWellFormed() ?? true).toBe(true);
    }
  });

  test("is shortened once, to fewer bytes than the token limit", () => {
    const packed = packText(chunk("猫".repeat(500)), {});
    expect(shortenText(packed, {})).toBeUndefined();
    const shorter = shortenText(packed, { maxInputTokens: 512 });
    expect(shorter?.bytes).toBe(504);
    expect(shorter && shortenText(shorter, { maxInputTokens: 512 })).toBeUndefined();
    expect(shortenText(packText(chunk("a".repeat(504)), {}), { maxInputTokens: 512 })).toBeUndefined();
  });
});

describe("a request", () => {
  const weight = (tokens: number, bytes = 1): TextWeight => ({ tokens, bytes });
  const many = Array.from({ length: 10 }, () => weight(10, 5));
  const uneven = [weight(1), weight(99, 99), weight(1)];

  test("has the stated limits with a margin for tokens, or 64 texts and 8000 tokens", () => {
    expect(requestLimits({})).toEqual({ items: 64, tokens: 8000 });
    expect(requestLimits({ maxBatchItems: 7, maxBatchTokens: 2000 })).toEqual({ items: 7, tokens: 1600 });
  });

  test.each<[TextWeight[], RequestLimits, start: number, count: number]>([
    [many, { items: 3, tokens: 1000 }, 0, 3],
    [many, { items: 100, tokens: 49 }, 0, 4],
    [many, { items: 100, tokens: 50 }, 0, 5],
    [many, { items: 100, tokens: 1000, bytes: 10 }, 0, 2],
    [many, { items: 100, tokens: 1000 }, 0, 10],
    [many, { items: 100, tokens: 1000 }, 8, 2],
    [[], { items: 3, tokens: 10 }, 0, 0],
    // A text above the limits goes alone.
    ...[0, 1, 2].map(
      (start) =>
        [uneven, { items: 10, tokens: 10, bytes: 10 }, start, 1] as [TextWeight[], RequestLimits, number, number],
    ),
  ])("%# is filled up to items, tokens and bytes", (texts, limits, start, count) => {
    expect(countFitting(texts, limits, start)).toBe(count);
  });

  test("is counted for all texts", () => {
    const limits = { items: 10, tokens: 10, bytes: 10 };
    expect([countRequests(uneven, limits), countRequests([], limits)]).toEqual([3, 0]);
  });
});

describe("a vector", () => {
  test.each([
    ...(tables.vectors as [string, number[]][]),
    ["Float32Array", Float32Array.of(3, 4)] as const,
    ["Float64Array", Float64Array.of(3e200, 4e200)] as const,
    ["any list", { length: 2, 0: 3, 1: 4 }] as const,
  ])("is scaled to length 1: %s", (_, numbers: ArrayLike<number>) => {
    const unit = unitVector(numbers, { id: "p" });
    expect(unit).toBeInstanceOf(Float32Array);
    expect(Math.hypot(...unit)).toBeCloseTo(1, 6);
    const [x = 0, y = 0] = Array.from(numbers);
    const largest = Math.max(Math.abs(x), Math.abs(y));
    expect((unit[0] ?? 0) * (y / largest)).toBeCloseTo((unit[1] ?? 0) * (x / largest), 6);
    expect(Math.sign(unit[0] ?? 0)).toBe(Math.sign(x));
  });

  test.each([
    [[1, Number.NaN], /^p gave a vector with a number that is not finite: NaN$/],
    [[1, Number.POSITIVE_INFINITY], /that is not finite: Infinity$/],
    [[1, null] as unknown as number[], /that is not finite: null$/],
    [["1", "2"] as unknown as number[], /that is not finite: 1$/],
    [[0, -0, 0], /^p gave a vector that is all zero$/],
    [[], /^p gave a vector that is empty$/],
    [[1, 1, 1, 1], /^p gave a vector of 4 numbers where 3 were expected$/],
  ])("%j is refused", (numbers, message) => {
    const provider = { id: "p", dimensions: numbers.length === 4 ? 3 : undefined };
    const refused = expect.objectContaining({ kind: "transient", message: expect.stringMatching(message) });
    expect(() => unitVector(numbers, provider)).toThrow(refused);
  });
});
