import { describe, expect, test } from "vitest";
import { inverseDocumentFrequency } from "./bm25.ts";
import { bm25, idealBm25, lineScore, matchLines, proximityScore } from "./line-scores.ts";
import { loadStemmers } from "../text/languages/stemmers.ts";
import { scannerFor } from "../text/languages/chunk-terms.ts";
import { namedQuery, nameMatch } from "./name-match.ts";
import { choosePassages } from "./passages/choose-passages.ts";
import { candidateOf } from "./rank.ts";
import { row, weightedTerms } from "./test/ranked.ts";

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
    const { lines, counts, words } = matchLines(
      ["deploy and deployed", "nothing", "Server"],
      "",
      weightedTerms("deploy server unknown"),
    );
    expect(lines.map((line) => [...line.counts])).toEqual([[[0, 2]], [], [[1, 1]]]);
    expect([...counts]).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(words).toBe(5);
  });

  test("count the headings above the lines, which are no line themselves", () => {
    const { lines, counts, words } = matchLines(["deploy"], "2026-03-05 > Server", weightedTerms("deploy server"));
    expect(lines).toHaveLength(1);
    expect([...counts.keys()]).toEqual([0, 1]);
    expect(words).toBe(1);
  });

  test("a prefix matches every word that begins with it", () => {
    const terms = weightedTerms("猫");
    expect(matchLines(["黑猫咪"], "", terms).counts.size).toBe(1);
    expect(matchLines(["黑狗"], "", terms).counts.size).toBe(0);
  });

  test("an identifier is matched whole and in parts", () => {
    expect(matchLines(["see QX-7919"], "", weightedTerms("qx-7919")).counts.size).toBe(3);
    expect(matchLines(["see QX-8000"], "", weightedTerms("qx-7919")).counts.size).toBe(1);
  });
});

describe("BM25 of a chunk", () => {
  const weigh = (text: string, query: string, averageWords = 10, counts?: Record<string, number>): number => {
    const terms = weightedTerms(query, counts);
    return bm25(matchLines(text.split("\n"), "", terms), averageWords, terms);
  };

  test("is 0 without a match, and never negative with one, however common the word is", () => {
    expect(weigh("nothing here", "budget")).toBe(0);
    for (const count of [1, 500, 999, 1000])
      expect(weigh("the budget", "budget", 10, { budget: count })).toBeGreaterThan(0);
  });

  test("grows with the words it holds, with their rarity and, ever less, with their number", () => {
    expect(weigh("budget review", "budget review")).toBeGreaterThan(weigh("budget report", "budget review"));
    expect(weigh("budget", "budget", 10, { budget: 1 })).toBeGreaterThan(
      weigh("budget", "budget", 10, { budget: 100 }),
    );
    const [one, two, three] = [1, 2, 3].map((times) => weigh("budget ".repeat(times).padEnd(100, "x "), "budget")) as [
      number,
      number,
      number,
    ];
    expect(two).toBeGreaterThan(one);
    expect(three - two).toBeLessThan(two - one);
  });

  test("is lower in a long chunk than in a short one", () => {
    expect(weigh("budget", "budget")).toBeGreaterThan(weigh(`budget ${"filler ".repeat(50)}`, "budget"));
  });

  test("of a text that is the query comes close to the ideal", () => {
    const terms = weightedTerms("budget review approved");
    expect(weigh("budget review approved", "budget review approved", 100) / idealBm25(terms)).toBeGreaterThan(0.9);
    expect(weigh("budget review approved", "budget review approved", 100)).toBeLessThanOrEqual(idealBm25(terms));
  });

  test("of an index of one chunk is a number", () => {
    expect(weigh("budget", "budget", 0)).toBeGreaterThan(0);
  });
});

describe("the score of a line", () => {
  test("grows with the words it holds and with their weight", () => {
    expect(scoreOf("no match", "budget review")).toBe(0);
    expect(scoreOf("the budget", "budget review")).toBeGreaterThan(0);
    expect(scoreOf("the budget review", "budget review")).toBeGreaterThan(scoreOf("the budget", "budget review"));
    expect(scoreOf("the budget", "budget", { budget: 1 })).toBeGreaterThan(
      scoreOf("the budget", "budget", { budget: 900 }),
    );
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

describe("words and their stems", () => {
  const languages = loadStemmers().then((stemmers) => ({ stemmers, held: ["de"] as const }));
  const text = "Die Häuser und das Haus sind mit der Bahn zu erreichen";

  test("a word that is found as it is written and by its stem is found once, and so weighs", async () => {
    const scan = scannerFor([text], await languages);
    const [haus] = weightedTerms("Haus");
    if (haus === undefined) throw new Error("no word");
    const matches = matchLines([text], "", [{ ...haus, forms: ["~haus"] }], scan);
    expect(matches.counts).toEqual(new Map([[0, 2]]));
    expect(matches.lines[0]?.positions.map(({ word }) => word)).toEqual([2, 5]);
    expect(matches.words).toBe(matchLines([text], "", [haus]).words);
  });

  test("a note is named like a question that has another form of its name", async () => {
    const chunk = { path: "Häuser.md", startLine: 1, context: "", lines: [text] };
    const [haus] = weightedTerms("Haus");
    if (haus === undefined) throw new Error("no word");
    const named = namedQuery([{ ...haus, forms: ["~haus"] }]);
    expect(nameMatch(named, chunk)).toBe(0);
    expect(nameMatch(named, chunk, scannerFor([text], await languages))).toBe(1);
  });

  test("the part of a long line that is shown is where a form of the word stands", async () => {
    const long = `${"Es war einmal und ist nicht mehr. ".repeat(40)}Die Häuser brannten. ${"Es war einmal. ".repeat(40)}`;
    const terms = weightedTerms("Haus").map((term) => ({ ...term, forms: ["~haus"] }));
    const candidate = { ...candidateOf(row(long), terms, await languages), score: 0.5 };
    const { passages } = choosePassages([[candidate]], terms, { maxResults: 6, maxTokens: 1000 });
    expect(passages[0]?.snippet).toContain("Häuser");
  });
});
