import { describe, expect, test } from "vitest";
import type { WeightedTerm } from "../line-scores.ts";
import { candidateOf } from "../rank.ts";
import { row } from "../test/ranked.ts";
import { queryTerms } from "../../text/words.ts";
import { type MatchStrength, matchStrength } from "./match-strength.ts";
import { namedTerms } from "./named-words.ts";

function termsOf(query: string): WeightedTerm[] {
  return queryTerms(query).map((term) => ({ ...term, idf: 2 }));
}

function strength(query: string, ...texts: string[]): MatchStrength {
  const terms = termsOf(query);
  const candidates = texts.map((text, index) => ({
    ...candidateOf(row(text, { path: `${index}.md` }), terms),
    score: 0.5,
  }));
  const frequencies = terms.map((_, index) => candidates.filter(({ matches }) => matches.counts.has(index)).length);
  return matchStrength({ query, terms, frequencies, candidates, isShown: () => true });
}

describe("how far an answer is one", () => {
  test.each<[string, string, string[], "strong" | "weak" | "none"]>([
    ["all in one line", "Where did Petra buy the boat?", ["- Petra bought the boat in Kiel."], "strong"],
    ["a line and the one before it", "boat price", ["The boat.\nIts price was high."], "strong"],
    ["a name that nothing holds", "Where did Petra buy the boat?", ["- Anna bought the boat in Kiel."], "none"],
    ["an identifier that nothing holds", "boat HX-4417", ["The boat is HX-4418."], "none"],
    ["words that stand in different notes", "harbour pilot licence", ["harbour", "pilot", "licence"], "weak"],
    ["words that stand nowhere", "harbour pilot licence", ["The harbour is far."], "weak"],
    [
      "said by somebody else",
      "What race did Melanie run?",
      ["- Caroline: I run a race, Melanie!\n- Melanie: A race?"],
      "weak",
    ],
    [
      "said by the one who is asked about",
      "What race did Melanie run?",
      ["- Melanie: I run a race.\n- Caroline: Well done."],
      "strong",
    ],
  ])("%s", (_what, query, texts, level) => {
    expect(strength(query, ...texts).match.level).toBe(level);
  });

  test("says which name is not there, and why it is weak", () => {
    expect(strength("Where did Petra buy the boat?", "Anna bought the boat.").match.reason).toBe(
      'none of these results holds "Petra"',
    );
    expect(strength("harbour pilot licence", "harbour", "pilot", "licence").match.reason).toContain(
      "do not stand together",
    );
    expect(strength("boat", "The boat.").match).toEqual({ level: "strong" });
    expect(strength("boat").match).toEqual({ level: "none" });
  });

  test("is a number from 0 to 1, higher where more stands together", () => {
    const [all, some, apart] = [
      strength("harbour pilot licence", "The harbour pilot has a licence."),
      strength("harbour pilot licence", "The harbour pilot."),
      strength("harbour pilot licence", "The harbour.", "The pilot."),
    ].map(({ confidence }) => confidence);
    expect(all).toBe(1);
    expect(some).toBeLessThan(1);
    expect(apart).toBeLessThan(some ?? 0);
    expect(apart).toBeGreaterThan(0);
  });
});

test.each<[string, string[]]>([
  ["Where did Petra buy the boat?", ["Petra"]],
  ["What is Petra's number?", ["Petra"]],
  ["Plans for the summer", []],
  ["Ask again. Maybe Kiel", ["Kiel"]],
  ["Wann hat der Zahnarzt Zeit?", []],
  ["Heat Pump", []],
  ["what does QF-4093 mean", ["QF-4093"]],
])("%s names %j", (query, names) => {
  const terms = termsOf(query);
  const named = [...namedTerms(query, terms)].map((index) => terms[index]?.written?.replace(/'s$/u, ""));
  expect(named).toEqual(names);
});
