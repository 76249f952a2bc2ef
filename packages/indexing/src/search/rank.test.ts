import { describe, expect, test } from "vitest";
import type { ChunkRow, IndexKeywordAnswer, IndexVectorAnswer } from "../index-row-types.ts";
import type { FusionWeights } from "../fusion/score-fusion.ts";
import { conversationWeights } from "./conversation-weight.ts";
import { rank, type Ranking, candidateOf } from "./rank.ts";
import { readTimes } from "../text/times/read-times.ts";
import { scanTerms } from "../text/index-terms.ts";
import { queryTerms } from "../text/query-terms.ts";
import { keywordAnswer, row, weightedTerms } from "./test/ranked.ts";
import { randomFrom, randomSentence } from "@memslot/test-tools/random";
import { byRarity, inverseDocumentFrequency, bm25, idealBm25, matchLines, proximityScore } from "../text/bm25.ts";
import { loadStemmers, scannerFor } from "../text/languages/chunk-terms.ts";
import { namedQuery, nameMatch } from "./name-match.ts";
import { choosePassages } from "./passages/choose-passages.ts";
import { timeTerms } from "./search.ts";
import tables from "./test/names.json" with { type: "json" };

const usual: FusionWeights = { vector: 0.7, text: 0.3 };
const now = new Date(2026, 2, 15);
const noAnswer: IndexKeywordAnswer = { rows: [], chunkCount: 0, documentFrequencies: [] };

function ranked(
  query: string,
  legs: { keyword?: IndexKeywordAnswer; vector?: IndexVectorAnswer; weights?: FusionWeights; dated?: boolean },
): Ranking {
  const { keyword: answer, vector, weights = usual } = legs;
  const keyword = { answer: answer ?? noAnswer, terms: queryTerms(query), readings: [] };
  const times = legs.dated === false ? { periods: [], isOnlyTime: false } : readTimes(query, { now });
  return rank("", times, { keyword, vector, degraded: undefined, retrievalMs: 0 }, weights);
}

/** The candidates of a keyword search that gave these rows. */
function byWords(query: string, rows: readonly ChunkRow[], counts: number[]): Ranking["candidates"] {
  return ranked(query, {
    keyword: keywordAnswer(
      rows.map((own) => [own, 5] as const),
      counts,
    ),
  }).candidates;
}

function scoreOf(ranking: Ranking, own: ChunkRow): number {
  return ranking.candidates.find((candidate) => candidate.row.id === own.id)?.score ?? Number.NaN;
}

describe("keyword scores", () => {
  test("rise strictly with the weight, and are over 0 and under 1", () => {
    const random = randomFrom(3);
    for (let round = 0; round < 40; round++) {
      const rows = Array.from({ length: 30 }, () =>
        row(`${random.pick(["deploy", "server", "budget"])} ${randomSentence(random, 80)}`),
      );
      const candidates = byWords("deploy server budget", rows, [10, 200, 1]);
      expect(candidates).toHaveLength(30);
      for (const [index, { score, keywordWeight }] of candidates.entries()) {
        const better = candidates[index - 1];
        expect(score).toBeGreaterThan(0);
        expect(score).toBeLessThan(1);
        const [weightAbove, scoreAbove] = better ? [better.keywordWeight, better.score] : [Infinity, 1];
        expect(weightAbove).toBeGreaterThanOrEqual(keywordWeight);
        expect(scoreAbove > score).toBe(weightAbove > keywordWeight);
      }
    }
  });

  test("mean the same in an index of ten chunks and in one of a million", () => {
    const text = row("the budget was approved in March");
    const score = (chunkCount: number, documentFrequency: number): number =>
      scoreOf(
        ranked("budget approved", {
          keyword: { ...keywordAnswer([[text, 1]], [documentFrequency, documentFrequency]), chunkCount },
        }),
        text,
      );
    expect(score(10, 1)).toBeCloseTo(score(1_000_000, 100_000), 5);
  });

  test("equal finds come in a fixed order", () => {
    const rows = [
      row("budget", { path: "memory/b.md" }),
      row("budget", { path: "memory/a.md", startLine: 9 }),
      row("budget", { path: "memory/a.md" }),
    ];
    const found = byWords("budget", rows, [3]).map((candidate) => candidate.row);
    expect(found).toEqual([rows[2], rows[1], rows[0]].map((own) => expect.objectContaining(own)));
  });
});

test("a note is not found by its name for a function word, nor for what only asks", () => {
  for (const [query, name, text] of [
    ["anniversaire de Léa", "Tarte de pommes", "Léa: 12 May"],
    ["how much is netflix", "Much", "netflix: 12.99 a month"],
  ] as const) {
    const rows = [row(`# ${name}`, { path: `${name}.md` }), row(text, { path: "list.md" })];
    const frequencies = queryTerms(query).map(({ term }) => (term === "anniversair" ? 0 : 1));
    expect(byWords(query, rows, frequencies)[0]?.row.path).toBe("list.md");
  }
});

test.each(["{{title}}", "<% tp.file.title %>", "${title}"])(
  "a template with %s in its names comes behind a note",
  (mark) => {
    const names = { context: `${mark} of the title`, path: `${mark}.md` };
    const template = row(`title: "Title of ${mark}"\n# Title of ${mark}\n\n{{date}}`, names);
    const note = row("the title of the house is in the safe");
    expect(byWords("title", [template, note], [2]).map((candidate) => candidate.row.id)).toEqual([
      note.id,
      template.id,
    ]);
  },
);

describe("exact finds", () => {
  const exact = (query: string, text: string, counts: number[]): boolean | undefined =>
    byWords(query, [row(text)], counts)[0]?.exact;

  test("hold every word of the query that the index knows", () => {
    expect(exact("budget review", "the review of the budget", [5, 5])).toBe(true);
    expect(exact("budget review", "the budget", [5, 5])).toBe(false);
    expect(exact("budget xyzzy", "the budget", [5, 0])).toBe(true);
  });

  test("hold an identifier of the query as it is written", () => {
    expect(exact("what about QX-7919 and the budget", "ticket qx-7919", [1, 1, 1, 5])).toBe(true);
    expect(exact("what about QX-7919 and the budget", "ticket QX 7919", [1, 1, 1, 5])).toBe(false);
    expect(exact("where is node.js used", "we use node.js", [9, 9, 9, 9])).toBe(true);
    expect(exact("restart after INC4711", "see inc4711", [9, 9, 1])).toBe(true);
    expect(exact("restart in 2026", "the year 2026", [9, 9])).toBe(false);
  });
});

test("a similarity over 1 is brought into the range, one under 0 stays what it is", () => {
  const rows = [1.000001, -0.4].map((score) => ({ ...row("x"), score }));
  const { candidates } = ranked("x", { vector: { rows }, weights: { vector: 1, text: 0 } });
  expect(candidates.map((candidate) => candidate.vectorScore)).toEqual([1, -0.4]);
});

describe("dates", () => {
  const old = row("budget decision", { path: "memory/2020-01-01.md" });
  const fitting = row("budget decision", { path: "memory/2026-03-05.md" });
  const undated = row("budget decision", { path: "MEMORY.md" });
  const all = keywordAnswer(
    [old, fitting, undated].map((own) => [own, 5] as const),
    [3, 3, 0, 0, 0],
  );
  const query = "budget decision 2026-03-05";

  test("no note loses anything by a date, however old it is", () => {
    const [with_, without] = [ranked(query, { keyword: all }), ranked(query, { keyword: all, dated: false })];
    for (const own of [old, fitting, undated])
      expect(scoreOf(with_, own)).toBeGreaterThanOrEqual(scoreOf(without, own));
    expect(scoreOf(with_, old)).toBe(scoreOf(without, old));
  });

  test("a note of the day that is named beats any words, a much better match one of the month", () => {
    const weak = row(`some decision ${"and other words ".repeat(10)}`, { path: fitting.path });
    const firstOf = (asked: string): string | undefined => byWords(asked, [old, weak], [3, 300, 0, 0, 0])[0]?.row.path;
    expect(firstOf(query)).toBe(fitting.path);
    expect(firstOf("budget decision 2026-03-06")).toBe(old.path);
    expect(firstOf("budget decision 2026-03")).toBe(old.path);
  });
});

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

test.each([
  ["What is the code? ", 0.25],
  ["What is the code? It is HX-19. ", 1],
])("a long message of a user, %s", (sentence, share) => {
  // Without sentence ends in most of it: a search for questions from each place of it would take minutes.
  const line = `User: ${sentence}${"the code ".repeat(20_000)}`;
  const said = row(line, { source: "sessions", path: "5e55-1.jsonl" });
  expect(conversationWeights("What is the code?", [said])(said, [line], scanTerms)?.shares).toEqual([share]);
});
