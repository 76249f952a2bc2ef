import { expect, test } from "vitest";
import { queryTerms } from "../text/words.ts";
import { namedQuery, nameMatch } from "./name-match.ts";

const idf: Readonly<Record<string, number>> = { petra: 4, heat: 3, pump: 3, cost: 2, allergi: 5 };

function match(query: string, chunk: Partial<Parameters<typeof nameMatch>[1]>): number {
  const terms = queryTerms(query).map((term) => ({ ...term, idf: idf[term.term] ?? 1 }));
  return nameMatch(namedQuery(terms), { path: "memory/2026-03-05.md", startLine: 1, context: "", lines: [], ...chunk });
}

test.each([
  ["the name of its file", "heat pump", { path: "Home/Heat pump.md" }, 1],
  ["its title", "heat pump", { context: "Heat pump" }, 1],
  ["another of its names", "heat pump", { context: "Warm\n= HP | Heat pump" }, 1],
  ["a heading in it", "who is Petra", { lines: ["text", "### Petra"] }, 1],
  ["the heading above it", "who is Petra", { context: "People > Petra", startLine: 9 }, 0.85],
  ["a heading further above", "who is Petra", { context: "Petra > Food", startLine: 9 }, 0.6],
  ["a tag", "heat", { context: "x\n#heat #cold" }, 0.6],
  ["a part of its name", "heat pump", { path: "Heat pump costs.md" }, Math.sqrt(2 / 3)],
  ["a part of the question", "petra allergy", { lines: ["# Petra"] }, 4 / 9],
  ["nothing", "heat pump", { context: "Boat", lines: ["heat pump"] }, 0],
  ["no word", "", { context: "Boat" }, 0],
] as const)("a chunk fits by %s", (_, query, chunk, expected) => {
  expect(match(query, chunk)).toBeCloseTo(expected, 5);
});

test("the first chunk of a note comes before those behind it, and its properties behind all", () => {
  const path = "Heat pump.md";
  const properties = match("heat pump", { path, lines: ["---", "phone: 0171", "---"] });
  expect(match("heat pump", { path, startLine: 40 })).toBeGreaterThan(properties);
  expect(match("heat pump", { path })).toBeGreaterThan(match("heat pump", { path, startLine: 40 }));
});
