import { resultTokens } from "@memslot/core/host";
import { randomFrom } from "@memslot/test-tools/random";
import { expect } from "vitest";
import type { ChunkRow, IndexKeywordAnswer } from "../../index-row-types.ts";
import { inverseDocumentFrequency, matchLines, type WeightedTerm } from "../../text/bm25.ts";
import { choosePassages } from "../passages/choose-passages.ts";
import { type Candidate, candidateOf } from "../rank.ts";
import { queryTerms } from "../../text/query-terms.ts";

/**
 * The terms of a query with weights as in an index of 1,000 chunks; `counts` says how many hold a term, 10 if not
 * named.
 */
export function weightedTerms(query: string, counts: Record<string, number> = {}): WeightedTerm[] {
  return queryTerms(query).map((term) => ({ ...term, idf: inverseDocumentFrequency(1000, counts[term.term] ?? 10) }));
}

let lastId = 0;

export function row(text: string, change: Partial<ChunkRow> = {}): ChunkRow {
  const startLine = change.startLine ?? 1;
  return {
    id: ++lastId,
    path: "memory/a.md",
    source: "memory",
    startLine,
    endLine: startLine + text.split("\n").length - 1,
    text,
    context: "",
    ...change,
  };
}

export function keywordAnswer(
  rows: readonly (readonly [ChunkRow, number])[],
  documentFrequencies: number[],
): IndexKeywordAnswer {
  return { rows: rows.map(([own, score]) => ({ ...own, score })), chunkCount: 1000, documentFrequencies };
}

export interface Made {
  path?: string;
  startLine?: number;
  score?: number;
  source?: string;
  context?: string;
}

export function weighted(query: string): WeightedTerm[] {
  return queryTerms(query).map((term) => ({ ...term, idf: 2 }));
}

/** A candidate that the keyword search found. Its names are no part of the match. */
export function candidate(query: string, lines: readonly string[], made: Made = {}): Candidate {
  const { path = "a.md", startLine = 1, score = 0.9, source = "memory", context = "" } = made;
  const terms = weighted(query);
  return {
    ...candidateOf(row(lines.join("\n"), { path, source, startLine, context }), terms),
    lines: [...lines],
    matches: matchLines(lines, context, terms),
    keywordWeight: 1,
    shares: { words: 1, names: 0, dates: 0 },
    textScore: score,
    score,
  };
}

/** Passages stay within the budget, and each of their lines is where they say. */
export function expectSoundPassages({ seed, queries }: { seed: number; queries: number }): void {
  const random = randomFrom(seed);
  let answers = 0;
  for (let round = 0; round < queries; round++) {
    const notes = Array.from({ length: 1 + random.below(6) }, (_, note) => {
      const file = Array.from({ length: 3 + random.below(60) }, () =>
        random.below(5) === 0
          ? ""
          : `${"  ".repeat(random.below(3))}${["- ", "", "## ", "| "][random.below(4)]}${`w${random.below(30)} `.repeat(1 + random.below(60))}${["", "?", "."][random.below(3)]}`,
      );
      const cut = 1 + random.below(file.length - 1);
      return {
        path: `n${note}.md`,
        file,
        parts: [
          [0, cut],
          [Math.max(0, cut - 2), file.length],
        ] as const,
      };
    });
    const query = `w${random.below(30)} w${random.below(30)}`;
    const limits = { maxResults: 1 + random.below(12), maxTokens: 100 + random.below(1500) };
    const groups = notes
      .slice(0, limits.maxResults)
      .map(({ path, file, parts }, rank) =>
        parts.map(([from, to], at) =>
          candidate(query, file.slice(from, to), { path, startLine: from + 1, score: 0.9 - rank / 10 - at / 50 }),
        ),
      );
    const found = choosePassages(groups, weighted(query), limits).passages;
    answers += found.length;
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(limits.maxResults);
    expect(found.reduce((sum, passage) => sum + resultTokens(passage), 0)).toBeLessThanOrEqual(limits.maxTokens);
    for (const { snippet, lines = [], startLine, endLine, best } of found) {
      expect(snippet.length).toBeLessThanOrEqual(700);
      const file = notes.find(({ path }) => path === best.row.path)?.file ?? [];
      const said = lines.flatMap(([from, to]) => file.slice(from - 1, to)).filter((line) => line.trim() !== "");
      const text = snippet.split("\n").filter((line) => line.trim() !== "" && line !== "…");
      expect(text).toHaveLength(said.length);
      for (const [index, line] of text.entries())
        for (const part of line.split("…")) expect(said[index]).toContain(part);
      expect([startLine, endLine]).toEqual([
        Math.min(startLine, lines[0]?.[0] ?? 0),
        Math.max(endLine, lines.at(-1)?.[1] ?? 0),
      ]);
    }
  }
  expect(answers).toBeGreaterThan(queries);
}
