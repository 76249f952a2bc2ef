import { describe, expect, test } from "vitest";
import { estimateTokens, indexAtTokens, surrogateSafe } from "./token-weight.ts";

describe("the weight of a text", () => {
  test("four Latin letters are a token", () => {
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens("abcdefgh")).toBe(2);
  });

  test.each(["数", "の", "カ", "한", "ㄅ", "ไ", "，", "豈"])("%s is more than half a token", (character) => {
    expect(estimateTokens(character)).toBeGreaterThan(0.5);
  });

  test("characters outside the basic plane weigh as two", () => {
    expect(estimateTokens("𠮷")).toBeCloseTo(1.4);
  });

  test("the place of a number of tokens", () => {
    expect(indexAtTokens("abcdefgh", 0, 1)).toBe(4);
    expect(indexAtTokens("abcdefgh", 2, 1)).toBe(6);
    expect(indexAtTokens("abcdefgh", 0, 100)).toBe(8);
    expect(indexAtTokens("数据库索引", 0, 1.5)).toBe(2);
    expect(indexAtTokens("a𠮷𠮷", 0, 1)).toBe(1);
  });

  test("an index never falls inside a surrogate pair", () => {
    const text = "a𠮷b";
    expect([0, 1, 2, 3, 4].map((index) => surrogateSafe(text, index))).toEqual([0, 1, 1, 3, 4]);
  });
});
