import { describe, expect, test } from "vitest";
import type { ChunkRow } from "../chunk-index.ts";
import { matchLines } from "./line-scores.ts";
import { mergeOverlaps } from "./merge-overlaps.ts";
import type { Candidate } from "./rank.ts";
import { scanTerms } from "../text/words.ts";
import { row, weightedTerms } from "./test/ranked.ts";

const terms = weightedTerms("budget approved");

function candidate(text: string, change: Partial<ChunkRow> = {}, score = 0.5): Candidate {
  const lines = text.split("\n");
  return {
    row: row(text, change),
    lines,
    scan: scanTerms,
    matches: matchLines(lines, "", terms),
    keywordWeight: 1,
    textScore: score,
    vectorScore: undefined,
    timeMatch: 0,
    day: undefined,
    exact: false,
    score,
  };
}

function ranges(candidates: readonly Candidate[]): [number, number][] {
  return candidates.map(({ row: own }) => [own.startLine, own.endLine]);
}

describe("overlapping chunks", () => {
  const first = candidate("one\ntwo\nbudget\nfour", { startLine: 1, context: "A" }, 0.8);
  const second = candidate("budget\nfour\nfive", { startLine: 3, context: "B" }, 0.6);

  test("that found the same line become one result over both ranges", () => {
    const [merged, ...others] = mergeOverlaps([first, second], 6);
    expect(others).toEqual([]);
    expect(merged).toMatchObject({ row: { startLine: 1, endLine: 5, context: "A" }, score: 0.8 });
    expect(merged?.lines).toEqual(["one", "two", "budget", "four", "five"]);
    expect(merged?.matches.lines.map((line) => line.counts.size)).toEqual([0, 0, 1, 0, 0]);
  });

  test("keep the place and score of the better one, whichever comes first in the file", () => {
    const better = { ...second, score: 0.9 };
    expect(mergeOverlaps([better, first], 6)).toMatchObject([
      { score: 0.9, row: { id: second.row.id, startLine: 1, endLine: 5, context: "A" } },
    ]);
  });

  test("one inside the other changes no line", () => {
    const inner = candidate("budget", { startLine: 3 });
    expect(mergeOverlaps([first, inner], 6)).toMatchObject([{ lines: first.lines, row: { startLine: 1, endLine: 4 } }]);
    expect(mergeOverlaps([inner, first], 6)).toMatchObject([{ lines: first.lines, row: { startLine: 1, endLine: 4 } }]);
  });

  test("with their best lines elsewhere stay two results", () => {
    const elsewhere = candidate("budget\nfour\nfive\nbudget approved", { startLine: 3 });
    expect(ranges(mergeOverlaps([first, elsewhere], 6))).toEqual([
      [1, 4],
      [3, 6],
    ]);
  });

  test("of two files or two sources stay two results", () => {
    for (const change of [{ path: "memory/b.md" }, { source: "sessions" }])
      expect(mergeOverlaps([first, candidate("budget\nfour\nfive", { startLine: 3, ...change })], 6)).toHaveLength(2);
  });

  test("an exact find makes the group exact", () => {
    expect(mergeOverlaps([first, { ...second, exact: true }], 6)).toMatchObject([{ exact: true }]);
  });

  test("a group takes in no third, so that a result does not grow over a file", () => {
    const third = candidate("budget\nfour", { startLine: 3 });
    expect(mergeOverlaps([first, second, third], 6)).toHaveLength(2);
  });

  test("behind the wanted places nothing is merged", () => {
    expect(mergeOverlaps([first, second], 1)).toHaveLength(2);
  });

  test("that only touch stay two results", () => {
    expect(mergeOverlaps([first, candidate("budget", { startLine: 5 })], 6)).toHaveLength(2);
  });
});

test("pieces of one long line follow each other", () => {
  const pieces = [candidate("budget one", { startLine: 7 }), candidate("budget two", { startLine: 7 })];
  expect(mergeOverlaps(pieces, 6)).toMatchObject([
    { lines: ["budget one", "budget two"], row: { startLine: 7, endLine: 7 } },
  ]);
});

test("no candidate is lost or made", () => {
  expect(mergeOverlaps([], 6)).toEqual([]);
  const many = Array.from({ length: 20 }, (_, index) => candidate("budget", { startLine: index * 10 + 1 }));
  expect(mergeOverlaps(many, 6)).toEqual(many);
});
