import { describe, expect, test } from "vitest";
import type { MeaningScale } from "../fusion/score-fusion.ts";
import type { WeightedTerm } from "../text/bm25.ts";
import { timeOfPath } from "../text/times/note-days.ts";
import { type Candidate, candidateOf } from "./rank.ts";
import { row } from "./test/ranked.ts";
import { queryTerms } from "../text/query-terms.ts";
import { type MatchStrength, matchStrength, timeStrength } from "./confidence.ts";
import { chineseNames, namedTerms } from "./name-match.ts";
import { type Days, oneDay } from "../text/times/calendar.ts";

import tables from "./test/names.json" with { type: "json" };

function termsOf(query: string): WeightedTerm[] {
  return queryTerms(query, ["de"]).map((term) => ({ ...term, idf: 2 }));
}

interface Found {
  text: string;
  timeMatch?: number;
  vectorScore?: number;
}

/**
 * `times`: the words of the question that name one. `elsewhere`: words that are in the workspace, and not in what is
 * shown.
 */
function strengthIn(
  query: string,
  found: readonly Found[],
  more: { times?: string[]; scale?: MeaningScale; elsewhere?: string[] } = {},
): MatchStrength {
  const terms = termsOf(query);
  const candidates = found.map(({ text, timeMatch = 0, vectorScore }, index): Candidate => {
    return { ...candidateOf(row(text, { path: `${index}.md` }), terms), score: 0.5, timeMatch, vectorScore };
  });
  const frequencies = terms.map(
    ({ written = "" }, index) =>
      candidates.filter(({ matches }) => matches.counts.has(index)).length +
      (more.elsewhere?.includes(written) === true ? 1 : 0),
  );
  const periods = (more.times ?? []).map((text) => ({ text }));
  return matchStrength({ query, periods, terms, frequencies, scale: more.scale, candidates, isShown: () => true });
}

function strength(query: string, ...texts: string[]): MatchStrength {
  return strengthIn(
    query,
    texts.map((text) => ({ text })),
  );
}

describe("how far an answer is one", () => {
  test.each(tables.answers as [string, string, string[], string][])("%s", (_what, query, texts, level) => {
    expect(strength(query, ...texts).match.level).toBe(level);
  });

  test.each(tables.reasons as [string, string[], string, string][])(
    "the answer to %s of %j is %s: %s",
    (query, texts, level, reason) => {
      const { match } = strength(query, ...texts);
      expect(match.level).toBe(level);
      expect(match.reason ?? "").toContain(reason);
      expect(match.reason === undefined).toBe(reason === "");
    },
  );

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
    const nameMissing = strength("Where did Petra buy the boat?", "Anna bought the boat.").confidence;
    expect(nameMissing).toBeGreaterThan(0);
    expect(nameMissing).toBeLessThan(0.1);
  });
});

describe("words of a time", () => {
  const query = "Where was Petra in July?";

  test("are no names, and a note of that time holds them", () => {
    const ofJuly = [{ text: "Petra was at the lake.", timeMatch: 1 }];
    expect(strengthIn(query, ofJuly).match.reason).toBe('none of these results contains "July"');
    expect(strengthIn(query, ofJuly, { times: ["in July"] })).toEqual({ confidence: 1, match: { level: "strong" } });
  });

  test("stand nowhere where no note is of that time, and a missing name is missing all the same", () => {
    const other = strengthIn(query, [{ text: "Petra was at the lake." }], { times: ["in July"] });
    expect(other.match.level).not.toBe("none");
    expect(other.confidence).toBeLessThan(1);
    const anna = strengthIn(query, [{ text: "Anna was at the lake.", timeMatch: 1 }], { times: ["in July"] });
    expect(anna.match.reason).toBe('none of these results contains "Petra"');
  });
});

test("a German noun that no result holds is not missing where another note holds it", () => {
  const found = [{ text: "Frau Ostermann verwaltet die Wohnung." }];
  const elsewhere = strengthIn("Wann hat Frau Ostermann Urlaub?", found, { elsewhere: ["Urlaub"] });
  expect(elsewhere.match.level).not.toBe("none");
});

describe("what is near in meaning", () => {
  const scale = { mean: 0.1, deviation: 0.1, weight: 0.15 };
  const near = [{ text: "Die Kasse ist leer.", vectorScore: 0.55 }];
  const [english, german] = ["is there budget left", "Gibt es noch Guthaben?"];

  test("is an answer in other words, as far as the vectors are worth it", () => {
    expect(strengthIn(english, near, { scale }).match).toEqual({ level: "strong" });
    expect(strengthIn(english, near, { scale: { ...scale, weight: 0.03 } }).match).toEqual({
      level: "weak",
      code: "match.meaning",
      reason: "results that are near in meaning contain few words of the query",
    });
    expect(strengthIn(english, near, { scale: { ...scale, weight: 0 } }).confidence).toBe(0);
    expect(strengthIn(english, near).confidence).toBe(0);
  });

  test("is none where it is no nearer than the best of many, or all are alike", () => {
    expect(strengthIn(english, [{ text: "x", vectorScore: 0.39 }], { scale }).confidence).toBe(0);
    expect(strengthIn(english, near, { scale: { ...scale, deviation: 0.0001 } }).confidence).toBe(0);
  });

  test("is not refused for a noun that notes may call otherwise, but for a name", () => {
    expect(strengthIn(german, near).match.level).toBe("none");
    expect(strengthIn(german, near, { scale: { ...scale, weight: 0.03 } }).match.level).toBe("weak");
    expect(strengthIn(german, near, { scale }).match.level).toBe("strong");
    for (const query of tables.budgetQuestions) expect(strengthIn(query, near, { scale }).match.level).toBe("none");
  });

  test("is worth less where others than the one who is asked about say it", () => {
    const text = "- Anna: I run a race.\n- Petra: Lovely.";
    expect(strengthIn("What race did Petra run?", [{ text, vectorScore: 0.6 }], { scale }).match.level).toBe("weak");
  });
});

test.each(tables.named as [string, string[]][])("%s names %j, whatever the notes hold", (query, names) => {
  const terms = termsOf(query);
  const { named, unsure } = namedTerms(
    query,
    terms,
    terms.map(() => 1),
  );
  const written = [...named].map((index) => terms[index]?.written?.replace(/'s$/u, ""));
  expect([...new Set(written)]).toEqual(names);
  expect(unsure.size).toBe(0);
});

test.each(tables.chinese as [string, string[]][])("%s names %j", (query, names) => {
  expect(chineseNames(query).map(({ name }) => name)).toEqual(names);
});

const asked = [oneDay(2026, 3, 5)].filter((days): days is Days => days !== undefined);

test("a note of the time that is asked for is an answer, one of the days after it is not", () => {
  for (const [name, timeMatch, level, reason] of tables.ofTime as [string, number, string, string?][]) {
    const path = `memory/${name}.md`;
    const note = { ...candidateOf(row("A quiet day.", { path }), []), timeMatch, days: timeOfPath(path) };
    const { confidence, match } = timeStrength([note], asked);
    expect([match?.level, match?.reason]).toEqual([level, reason]);
    expect(confidence).toBe(level === "strong" ? timeMatch : timeMatch / 2);
  }
  expect(timeStrength([], asked).match.level).toBe("none");
});
