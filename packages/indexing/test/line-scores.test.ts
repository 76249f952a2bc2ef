import { describe, expect, test } from "vitest";
import { inverseDocumentFrequency, lineScore, matchLines, proximityScore } from "../src/line-scores.ts";
import { weightedTerms } from "./support/ranked.ts";

function scoreOf(line: string, query: string, counts?: Record<string, number>): number {
  const terms = weightedTerms(query, counts);
  const [matched] = matchLines([line], "", terms).lines;
  return matched ? lineScore(matched, terms) : Number.NaN;
}

function nearness(lines: string[], query: string): number {
  const terms = weightedTerms(query);
  return proximityScore(matchLines(lines, "", terms), terms);
}

describe("the weight of a word", () => {
  test("is higher the fewer chunks hold it, and never negative", () => {
    const weights = [0, 1, 10, 500, 1000, 5000].map((count) => inverseDocumentFrequency(1000, count));
    expect(weights).toEqual(weights.toSorted((a, b) => b - a));
    expect(Math.min(...weights)).toBeGreaterThan(0);
    expect(inverseDocumentFrequency(0, 0)).toBeGreaterThan(0);
  });
});

describe("matches", () => {
  test("name the line, the term and how often it stands there", () => {
    const { lines, found } = matchLines(["deploy and deployed", "nothing", "Server"], "", weightedTerms("deploy server unknown"));
    expect(lines.map((line) => [...line.counts])).toEqual([[[0, 2]], [], [[1, 1]]]);
    expect([...found].toSorted()).toEqual([0, 1]);
  });

  test("a prefix matches every word that begins with it", () => {
    const terms = weightedTerms("猫");
    expect(matchLines(["黑猫咪"], "", terms).found.size).toBe(1);
    expect(matchLines(["黑狗"], "", terms).found.size).toBe(0);
  });

  test("an identifier is matched whole and in parts", () => {
    expect(matchLines(["see QX-7919"], "", weightedTerms("qx-7919")).found.size).toBe(3);
    expect(matchLines(["see QX-8000"], "", weightedTerms("qx-7919")).found.size).toBe(1);
  });
});

describe("the score of a line", () => {
  test("grows with the words it holds and with their weight", () => {
    expect(scoreOf("no match", "budget review")).toBe(0);
    expect(scoreOf("the budget", "budget review")).toBeGreaterThan(0);
    expect(scoreOf("the budget review", "budget review")).toBeGreaterThan(scoreOf("the budget", "budget review"));
    expect(scoreOf("the budget", "budget", { budget: 1 })).toBeGreaterThan(scoreOf("the budget", "budget", { budget: 900 }));
  });

  test("repeating one word is worth less than another word", () => {
    expect(scoreOf("budget budget budget", "budget review")).toBeGreaterThan(scoreOf("budget", "budget review"));
    expect(scoreOf("budget ".repeat(50), "budget review")).toBeLessThan(scoreOf("budget review", "budget review"));
  });
});

describe("nearness", () => {
  test("rewards neighbours of the query that stand close together", () => {
    const side = nearness(["the budget review was long"], "budget review");
    const apart = nearness(["the budget of our whole team needs a review"], "budget review");
    const far = nearness([`budget ${"x ".repeat(20)} review`], "budget review");
    expect(side).toBeGreaterThan(apart);
    expect(apart).toBeGreaterThan(far);
    expect(far).toBe(0);
  });

  test("goes over the end of a line, and knows no order", () => {
    expect(nearness(["budget", "review"], "budget review")).toBeGreaterThan(0);
    expect(nearness(["review budget"], "budget review")).toBe(nearness(["budget review"], "budget review"));
  });

  test("is nothing for pairs of characters, whose parts always stand together", () => {
    expect(nearness(["数据库索引"], "数据库索引")).toBe(0);
  });
});
