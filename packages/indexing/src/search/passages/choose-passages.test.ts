import { estimateTokens } from "@memslot/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Candidate } from "../rank.ts";
import { candidate, expectSoundPassages, type Made, weighted } from "../test/ranked.ts";
import { choosePassages, type ScoredPassage } from "./choose-passages.ts";
import { piecesOf, sectionsAbove } from "./passage.ts";
import tables from "../test/names.json" with { type: "json" };

function shown(
  query: string,
  notes: readonly (readonly Candidate[])[],
  { maxResults = 6, maxTokens = 1000 } = {},
): ScoredPassage[] {
  return choosePassages(
    notes.map((note) => [...note]),
    weighted(query),
    { maxResults, maxTokens },
  ).passages;
}

function passages(query: string, lines: readonly string[], made: Made = {}): ScoredPassage[] {
  return shown(query, [[candidate(query, lines, made)]]);
}

/** Lines without a word of the query, more than an answer has room for. */
const rest = Array.from({ length: 400 }, () => "Nothing about it.");

describe("of one note", () => {
  test("lines far from each other are one result with a gap, and exact lines", () => {
    const lines = Array.from({ length: 30 }, (_, index) =>
      index === 4 || index === 20 ? "The ferry leaves." : `x${index}.`,
    );
    const [passage, ...more] = passages("ferry", [...lines, ...rest]);
    expect(more).toEqual([]);
    expect(passage).toMatchObject({ startLine: 1, endLine: 430 });
    expect(passage?.snippet).toBe("…\nx3.\nThe ferry leaves.\nx5.\n…\nx19.\nThe ferry leaves.\nx21.\n…");
    expect(passage?.lines).toEqual([
      [4, 6],
      [20, 22],
    ]);
  });

  test("what more it holds than one text has room for is a further result with other lines and a lower score", () => {
    const lines = Array.from({ length: 12 }, (_, index) => `The ferry leaves quay ${index} ${"now ".repeat(30)}.`);
    const found = passages("ferry", lines);
    expect(found.length).toBeGreaterThan(1);
    const numbers = found.flatMap(({ lines: ranges = [] }) =>
      ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at)),
    );
    expect(new Set(numbers).size).toBe(numbers.length);
    const scores = found.map(({ score }) => score);
    expect(new Set(scores).size).toBe(scores.length);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  test("a line that stands in two chunks is shown once", () => {
    const [one, other] = [
      ["a.", "b.", "The ferry."],
      ["The ferry.", "d."],
    ];
    const found = shown("ferry", [[candidate("ferry", one), candidate("ferry", other, { startLine: 3, score: 0.5 })]]);
    expect(found.map(({ snippet }) => snippet)).toEqual(["a.\nb.\nThe ferry.\nd."]);
    expect(found[0]?.lines).toEqual([[1, 4]]);
  });
});

describe("with a line comes", () => {
  test.each(tables.context as [string, string, string[], string][])("%s", (_what, query, lines, snippet) => {
    expect(passages(query, [...lines, ...rest])[0]?.snippet.startsWith(snippet)).toBe(true);
  });

  test("its heading, where that is not shown: from the chunk, or from above it", () => {
    const lines = ["## Boats", "", ...rest, "The ferry."];
    expect(passages("ferry", lines)[0]).toMatchObject({ heading: "Boats" });
    expect(passages("ferry", ["The ferry."], { context: "Travel > Boats" })[0]).toMatchObject({ heading: "Boats" });
    expect(passages("boats ferry", lines)[0]?.heading).toBeUndefined();
    // A note's own name is in its path.
    expect(passages("ferry", ["The ferry."], { path: "Boats.md", context: "Boats" })[0]?.heading).toBeUndefined();
    const long = passages("ferry", ["The ferry."], { context: "very long ".repeat(20) })[0]?.heading ?? "";
    expect(long.length).toBeLessThanOrEqual(80);
  });
});

test.each([
  ["the context and the chunk", "Trip > Boats", ["## Times", "", "The ferry."], ["Trip", "Boats", "Times"]],
  ["the context alone", "Trip > Boats", ["The ferry."], ["Trip", "Boats"]],
  ["not what a heading of the chunk ends", "Trip > Boats", ["It sails.", "## Times", "The ferry."], ["Times"]],
  ["not its siblings", "Trip", ["## Boats", "x", "## Cars", "### Red", "The ferry."], ["Trip", "Cars", "Red"]],
  ["not the heading itself", "Trip", ["## Boats", "x", "## Ferry"], ["Trip"]],
])("the sections above a line: %s", (_what, context, lines, expected) => {
  const pieces = piecesOf(candidate("ferry", lines, { context }), weighted("ferry"), 100).slice(-1);
  expect(sectionsAbove({ pieces })).toEqual(expected);
  const [whole] = passages("ferry", lines, { context });
  expect(whole && sectionsAbove(whole)).toEqual(expected);
});

describe("a long line", () => {
  const sentence = (word: string): string => `In the morning the ${word} is looked at by all who stand by the water. `;
  const line = [
    ...Array.from({ length: 20 }, (_, index) => sentence(`boat${index}`)),
    sentence("ferry"),
    sentence("end"),
  ].join("");

  test("is shown by its sentences, with … for the rest", () => {
    const [passage] = passages("ferry", [line]);
    expect(passage?.snippet).toContain("the ferry is looked at");
    expect(passage?.snippet).toMatch(/^….*…$|^….*$/s);
    expect(estimateTokens(passage?.snippet ?? "")).toBeLessThan(200);
  });

  test("of a script without spaces too, and no character is cut in two", () => {
    const found = passages("渡轮", [`${"今天没有什么可说的事情。".repeat(40)}渡轮停在𠮷港。${"𠮷".repeat(600)}`]);
    expect(found[0]?.snippet).toContain("渡轮停在𠮷港");
    for (const { snippet } of found) expect(snippet.isWellFormed()).toBe(true);
  });
});

describe("of twelve notes, the later ones worth little", () => {
  const notes = Array.from({ length: 12 }, (_, rank) => {
    const path = `n${String(rank).padStart(2, "0")}.md`;
    const lines =
      rank === 0
        ? Array.from({ length: 40 }, (__, line) => `The ferry leaves quay ${line} ${"now ".repeat(20)}.`)
        : ["The ferry, once."];
    return [candidate("ferry", lines, { path, score: rank === 0 ? 0.9 : 0.05 })];
  });
  const paths = (limits: { maxResults: number; maxTokens: number }): string[] => {
    return [...new Set(shown("ferry", notes.slice(0, limits.maxResults), limits).map(({ best }) => best.row.path))];
  };

  test("the best note is shown whole before them, where the number counts", () => {
    expect(paths({ maxResults: 12, maxTokens: 2000 }).length).toBe(6);
    expect(shown("ferry", notes, { maxResults: 12, maxTokens: 2000 }).length).toBe(12);
    const listed = choosePassages(notes, weighted("ferry"), { maxResults: 12, maxTokens: 2000, keepsOrder: true });
    expect(new Set(listed.passages.map(({ best }) => best.row.path)).size).toBe(9);
  });

  test.each([
    [2000, 12],
    [1000, 1],
  ])("in %i tokens %i of them have a result where the best note has no more to say", (maxTokens, count) => {
    const short = notes.map(([own], rank) => [
      candidate("ferry", ["The ferry, once."], { path: own?.row.path ?? "", score: rank === 0 ? 0.9 : 0.05 }),
    ]);
    expect(shown("ferry", short, { maxResults: 12, maxTokens }).length).toBe(count);
  });
});

test.each(tables.whole as [string, { note: string[]; filler: number; shown: string; maxTokens: number }][])(
  "in the budget that is left %s",
  (_what, { note, filler, shown: text, maxTokens }) => {
    const lines = note.flatMap((line) => (line === "FILLER" ? rest.slice(0, filler) : [line]));
    expect(shown("ferry", [[candidate("ferry", lines)]], { maxTokens })[0]?.snippet).toBe(text);
  },
);

test("a line is worth more by its label and by the match two lines before it", () => {
  const scores = (lines: string[]): number[] =>
    piecesOf(candidate("anna ferry", lines), weighted("anna ferry"), 100).map(({ score }) => score);
  const [labelled = 0, plain = 0] = ["- **Anna:** yes.", "- Yes, Anna."].flatMap((line) => scores([line]));
  expect(labelled).toBeGreaterThan(plain);
  const [, , third = 0] = scores(["The ferry.", "a.", "Anna."]);
  expect(third).toBeGreaterThan(plain);
  expect(scores(["The ferry.", "a.", "b."])[2]).toBe(0);
});

test("transcripts keep the range of their chunk, and name no lines", () => {
  const [passage] = passages("ferry", ["User: The ferry?", "Assistant: At nine."], {
    source: "sessions",
    startLine: 40,
  });
  expect(passage).toMatchObject({ startLine: 40, endLine: 41, lines: undefined });
});

test("answers of 60 queries stay within the budget, of at most so many results of at most 700 characters, each line at its number", () => {
  expectSoundPassages({ seed: 7, queries: 60 });
});

test.each(tables.shortLines as [string, string][])(
  "2,000 short lines %s are read a few times each, and answer within the budget",
  (_what, line) => {
    const lines = Array.from({ length: 2000 }, (_, at) => line.replaceAll("{i}", String(at)).split("\n")).flat();
    let reads = 0;
    const counted = (own: Candidate): Candidate => {
      const { startLine } = own.row;
      return { ...own, row: Object.defineProperty(own.row, "startLine", { get: () => (reads++, startLine) }) };
    };
    const found = shown("river bridge r", [[counted(candidate("river bridge r", lines))]], {
      maxResults: 200,
      maxTokens: 4000,
    });
    expect(found.length).toBeGreaterThan(0);
    expect(reads).toBeLessThan(1500 * lines.length);
  },
);

test("when the answer is full, the passages of a note are not built again for each of its lines", () => {
  const built = vi.spyOn(Array.prototype, "toSorted");
  onTestFinished(() => built.mockRestore());
  const lines = Array.from({ length: 4000 }, (_, index) => "abcdefgh".charAt(index % 8));
  expect(
    shown(
      "a b",
      Array.from("12345678", () => [candidate("a b", lines)]),
      { maxTokens: 4000 },
    ),
  ).toHaveLength(6);
  expect(built.mock.calls.length).toBeLessThan(1300);
});

test("without room for a line, what is found is counted and not read", () => {
  const notes = Array.from({ length: 3 }, (_, at) => {
    const own = candidate("ferry", ["The ferry."], { path: `${at}.md` });
    return [Object.defineProperty(own, "lines", { get: () => expect.unreachable("a line was read") })];
  });
  const counted = choosePassages(notes, weighted("ferry"), { maxResults: 6, maxTokens: 0 });
  expect(counted).toMatchObject({ passages: [], overBudget: 3, further: 0 });
});

describe("front matter", () => {
  const head = ["---", "aliases: [ferry]", "status: done, with the ferry", "phone: 0171", "---"];

  test("is no text: what names the note is left out, and what it says comes where it answers", () => {
    const body = candidate("ferry", ["The ferry leaves."], { startLine: 6, score: 0.5 });
    const found = shown("ferry", [[candidate("ferry", head, { score: 0.9 }), body]]);
    expect(found.map(({ snippet }) => snippet)).toEqual(["…\nstatus: done, with the ferry\n…\nThe ferry leaves."]);
    expect(found[0]?.lines).toEqual([
      [3, 3],
      [6, 6],
    ]);
    const named = candidate("ferry", ["---", "aliases: [ferry]", "phone: 0171", "---"]);
    expect(shown("ferry", [[named, body]]).map(({ snippet }) => snippet)).toEqual(["The ferry leaves."]);
  });

  test("is shown where a note says nothing else", () => {
    const [only] = shown("ferry", [[candidate("ferry", ["---", "aliases: [ferry]", "---"])]]);
    expect(only?.snippet).toContain("aliases: [ferry]");
  });
});
