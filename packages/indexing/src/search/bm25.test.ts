import { describe, expect, test } from "vitest";
import { byRarity, inverseDocumentFrequency, bm25, idealBm25, matchLines, proximityScore } from "../text/bm25.ts";
import { loadStemmers, scannerFor } from "../text/languages/chunk-terms.ts";
import { namedQuery, nameMatch } from "./name-match.ts";
import { choosePassages } from "./passages/choose-passages.ts";
import { candidateOf } from "./rank.ts";
import { row, weightedTerms } from "./test/ranked.ts";
import { queryTerms } from "../text/query-terms.ts";
import { readTimes } from "../text/times/read-times.ts";
import { timeTerms } from "./search.ts";
import tables from "./test/names.json" with { type: "json" };

describe("scores of a chunk", () => {
  const weigh = (text: string, query: string, averageWords = 10, counts?: Record<string, number>): number => {
    const terms = weightedTerms(query, counts);
    return bm25(matchLines(text.split("\n"), "", terms), averageWords, terms);
  };
  const nearness = (lines: string[], query: string): number => {
    const terms = weightedTerms(query);
    return proximityScore(matchLines(lines, "", terms), terms);
  };

  test("BM25 is 0 without a match, and over 0 with one, however common the word is and in an index of one chunk", () => {
    expect(weigh("nothing here", "budget")).toBe(0);
    for (const count of [1, 500, 999, 1000])
      expect(weigh("the budget", "budget", 10, { budget: count })).toBeGreaterThan(0);
    expect(weigh("budget", "budget", 0)).toBeGreaterThan(0);
    expect(inverseDocumentFrequency(0, 0)).toBeGreaterThan(0);
  });

  test("BM25 of a text that is the query comes close to the ideal", () => {
    const query = "budget review approved";
    const share = weigh(query, query, 100) / idealBm25(weightedTerms(query));
    expect(share).toBeGreaterThan(0.9);
    expect(share).toBeLessThanOrEqual(1);
  });

  test("nearness goes over the end of a line, knows no order, and is nothing for pairs of characters", () => {
    expect(nearness(["budget", "review"], "budget review")).toBeGreaterThan(0);
    expect(nearness(["review budget"], "budget review")).toBe(nearness(["budget review"], "budget review"));
    expect(nearness([`budget ${"x ".repeat(20)} review`], "budget review")).toBe(0);
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

  test("the part of a long line that is shown is where a form of the word stands", async () => {
    const long = `${"Es war einmal und ist nicht mehr. ".repeat(40)}Die Häuser brannten. ${"Es war einmal. ".repeat(40)}`;
    const terms = weightedTerms("Haus").map((term) => ({ ...term, forms: ["~haus"] }));
    const candidate = { ...candidateOf(row(long), terms, await languages), score: 0.5 };
    const { passages } = choosePassages([[candidate]], terms, { maxResults: 6, maxTokens: 1000 });
    expect(passages[0]?.snippet).toContain("Häuser");
  });
});

test.each(tables.byRarity as [string, Record<string, number>, number, string[], string[]][])(
  "%s",
  (_, holders, chunkCount, rare, common) => {
    expect(byRarity(Object.keys(holders), Object.values(holders), chunkCount)).toEqual({ rare, common });
  },
);

describe("a name", () => {
  const idf: Readonly<Record<string, number>> = { petra: 4, heat: 3, pump: 3, cost: 2, allergi: 5 };

  function match(query: string, chunk: Partial<Parameters<typeof nameMatch>[1]>): number {
    const terms = queryTerms(query).map((term) => ({ ...term, idf: idf[term.term] ?? 1 }));
    return nameMatch(namedQuery(terms, query), {
      path: "memory/2026-03-05.md",
      startLine: 1,
      context: "",
      lines: [],
      ...chunk,
    });
  }

  test.each(tables.nameMatches as [string, string, Parameters<typeof match>[1], number][])(
    "a chunk fits by %s",
    (_, query, chunk, expected) => {
      expect(match(query, chunk)).toBeCloseTo(expected, 5);
    },
  );

  test("the first chunk of a note comes before those behind it, and its properties behind all", () => {
    const path = "Heat pump.md";
    const properties = match("heat pump", { path, lines: ["---", "phone: 0171", "---"] });
    expect(match("heat pump", { path, startLine: 40 })).toBeGreaterThan(properties);
    expect(match("heat pump", { path })).toBeGreaterThan(match("heat pump", { path, startLine: 40 }));
  });
});

describe("the terms of a time", () => {
  const now = new Date(2026, 2, 15);

  function termsOf(query: string, days?: readonly number[]): string[] {
    return timeTerms(readTimes(query, { now, days }).periods).map(({ term, prefix }) => (prefix ? `${term}*` : term));
  }

  test.each(tables.timeTerms as [string, string, string][])(
    "%s asks for what its notes stand under",
    (_, query, expected) => {
      expect(termsOf(query).join(" ")).toBe(expected);
    },
  );

  test("however many times are named, a store is asked for 64 terms at most, the likeliest first", () => {
    const days = Array.from({ length: 30 }, (_, year) => Math.floor(Date.UTC(1996 + year, 4, 6) / 86_400_000));
    const terms = termsOf("6 May, July 2025, June 2025 and April 2025", days);
    expect(terms.length).toBe(64);
    expect(terms[0]).toBe("2025-05-06");
  });
});
