import { describe, expect, test } from "vitest";
import { countFitting, countRequests, embeddingText, packText, requestLimits, shortenText } from "./pack.ts";
import { estimateTokens } from "../../text/token-weight.ts";
import { ProviderError } from "@memslot/core";
import { unitVector } from "./unit-vector.ts";
import tables from "./test/vectors.json" with { type: "json" };

const chunk = (text: string, context = ""): { hash: string; context: string; text: string } => ({
  hash: "h",
  context,
  text,
});

describe("the text of a chunk", () => {
  test("is its headings, a blank line and its lines", () => {
    expect(embeddingText(chunk("line", "2026-03-05 > Trip"))).toBe("2026-03-05 > Trip\n\nline");
    expect(embeddingText(chunk("line"))).toBe("line");
    expect(packText(chunk("line", "Trip"), {})).toEqual({ hash: "h", text: "Trip\n\nline", tokens: 2.5, bytes: 10 });
  });

  test("is cut where the provider takes less, with room to spare, and nowhere else", () => {
    const long = "word ".repeat(1000);
    expect(packText(chunk(long), {}).text).toBe(long);
    expect(packText(chunk(long), { maxInputTokens: 2000 }).text).toBe(long);
    for (const limits of [
      { maxInputTokens: 512 },
      { maxBatchTokens: 512 },
      { maxInputTokens: 900, maxBatchTokens: 512 },
    ]) {
      const { text, tokens } = packText(chunk(long, "Trip"), limits);
      expect(`Trip\n\n${long}`.startsWith(text)).toBe(true);
      expect(tokens).toBe(estimateTokens(text));
      expect(tokens).toBeLessThanOrEqual(512 * 0.9);
      expect(tokens).toBeGreaterThan(512 * 0.7);
    }
  });

  test("is never cut inside a character", () => {
    for (let tokens = 1; tokens < 12; tokens++) {
      const { text } = packText(chunk("👍".repeat(50)), { maxInputTokens: tokens });
      expect(text.isWellFormed()).toBe(true);
      const shorter = shortenText(packText(chunk("é👍猫".repeat(50)), {}), { maxInputTokens: 8 + tokens });
      expect(shorter?.text.isWellFormed() ?? true).toBe(true);
    }
  });

  test("is shortened to fewer bytes than tokens are allowed, once", () => {
    const packed = packText(chunk("猫".repeat(500)), {});
    expect(shortenText(packed, {})).toBeUndefined();
    const shorter = shortenText(packed, { maxInputTokens: 512 });
    expect(shorter?.text).toBe("猫".repeat(168));
    expect(shorter?.bytes).toBe(504);
    expect(shorter && shortenText(shorter, { maxInputTokens: 512 })).toBeUndefined();
    expect(shortenText(packText(chunk("a".repeat(504)), {}), { maxInputTokens: 512 })).toBeUndefined();
  });
});

describe("a request", () => {
  const weight = (tokens: number, bytes = 1): { tokens: number; bytes: number } => ({ tokens, bytes });

  test("holds what the provider states, tokens with room to spare, or 64 texts and 8000 tokens", () => {
    expect(requestLimits({})).toEqual({ items: 64, tokens: 8000 });
    expect(requestLimits({ maxBatchItems: 7, maxBatchTokens: 2000 })).toEqual({ items: 7, tokens: 1600 });
  });

  test("is filled up to items, tokens and bytes", () => {
    const many = Array.from({ length: 10 }, () => weight(10, 5));
    expect(countFitting(many, { items: 3, tokens: 1000 })).toBe(3);
    expect(countFitting(many, { items: 100, tokens: 49 })).toBe(4);
    expect(countFitting(many, { items: 100, tokens: 50 })).toBe(5);
    expect(countFitting(many, { items: 100, tokens: 1000, bytes: 10 })).toBe(2);
    expect(countFitting(many, { items: 100, tokens: 1000 })).toBe(10);
    expect(countFitting(many, { items: 100, tokens: 1000 }, 8)).toBe(2);
    expect(countFitting([], { items: 3, tokens: 10 })).toBe(0);
  });

  test("holds one text that is too long for it, alone", () => {
    const texts = [weight(1), weight(99, 99), weight(1)];
    const limits = { items: 10, tokens: 10, bytes: 10 };
    expect([countFitting(texts, limits), countFitting(texts, limits, 1), countFitting(texts, limits, 2)]).toEqual([
      1, 1, 1,
    ]);
    expect(countRequests(texts, limits)).toBe(3);
    expect(countRequests([], limits)).toBe(0);
  });
});

describe("unit vectors", () => {
  const free = { id: "p" };

  function length(vector: Float32Array): number {
    return Math.hypot(...vector);
  }

  function problem(run: () => unknown): unknown {
    try {
      run();
    } catch (error) {
      return error;
    }
    return undefined;
  }

  describe("a vector", () => {
    test.each(tables.vectors as [string, number[]][])("is scaled to length 1: %s", (_, numbers) => {
      const unit = unitVector(numbers, free);
      expect(unit).toBeInstanceOf(Float32Array);
      expect(length(unit)).toBeCloseTo(1, 6);
      expect(Math.sign(unit[0] ?? 0)).toBe(Math.sign(numbers[0] ?? 0));
    });

    test("keeps its direction, whatever kind of list it is", () => {
      for (const numbers of [[3, 4], Float32Array.of(3, 4), Float64Array.of(3e200, 4e200), { length: 2, 0: 3, 1: 4 }]) {
        const [x, y] = unitVector(numbers, free);
        expect(x).toBeCloseTo(0.6, 6);
        expect(y).toBeCloseTo(0.8, 6);
      }
    });

    test.each([
      ["not finite", [1, Number.NaN], /^p gave a vector with a number that is not finite: NaN$/],
      ["not finite", [1, Number.POSITIVE_INFINITY], /that is not finite: Infinity$/],
      ["not finite", [1, null] as unknown as number[], /that is not finite: null$/],
      ["not finite", ["1", "2"] as unknown as number[], /that is not finite: 1$/],
      ["all zero", [0, -0, 0], /^p gave a vector that is all zero$/],
      ["empty", [], /^p gave a vector that is empty$/],
    ])("that is %s is refused: %j", (_, numbers, words) => {
      const error = problem(() => unitVector(numbers, free));
      expect(ProviderError.is(error, "transient")).toBe(true);
      expect((error as Error).message).toMatch(words);
    });

    test("has the size that the provider states", () => {
      const error = problem(() =>
        unitVector(Array.from({ length: 512 }).fill(1) as number[], { id: "p", dimensions: 768 }),
      );
      expect((error as Error).message).toBe("p gave a vector of 512 numbers where 768 were expected");
    });
  });
});
