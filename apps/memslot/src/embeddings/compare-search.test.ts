import type { MemorySearchResult } from "@memslot/core";
import { describe, expect, test } from "vitest";
import data from "../../test/data/terminal.json" with { type: "json" };
import { describeComparison, questionFrom } from "./compare-search.ts";

describe("a question made of a note", () => {
  test.each(data.questions as [string, string, string?][])("%s", (_, note, question) => {
    expect(questionFrom(note)).toBe(question);
  });

  test("does not end within a sign", () => {
    expect(questionFrom("𠀀".repeat(60))?.isWellFormed()).toBe(true);
  });
});

test("both answers stand below each other, what words did not bring has a mark, and a lack is told", () => {
  const result = (path: string, snippet: string): MemorySearchResult =>
    ({ path, startLine: 1, endLine: 4, score: 0.5, snippet, source: "memory" }) as MemorySearchResult;
  const known = result("a.md", "# Drinks\n\nWater.\nAnna likes espresso\u001b[31m.");
  const text = describeComparison({
    question: "espresso",
    before: [known],
    after: [result("b.md", "# B\nCoffee, black."), known],
    mode: "hybrid",
    reason: "the model is late",
  });
  expect(text).toBe(data.bothAnswers.join("\n"));
  expect(text).not.toContain("\u001b");
  expect(describeComparison({ question: "x", from: "MEMORY.md", before: [], after: [], mode: "keyword" })).toContain(
    '"x" (a line of MEMORY.md; use --try "…" for your own query)\nkeyword search:\n    nothing\n',
  );
});
