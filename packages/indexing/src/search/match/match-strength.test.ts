import { describe, expect, test } from "vitest";
import type { MeaningScale } from "../../fusion/fuse.ts";
import type { WeightedTerm } from "../line-scores.ts";
import { type Candidate, candidateOf } from "../rank.ts";
import { row } from "../test/ranked.ts";
import { queryTerms } from "../../text/words.ts";
import { type MatchStrength, matchStrength } from "./match-strength.ts";
import { namedTerms } from "./named-words.ts";

function termsOf(query: string): WeightedTerm[] {
  return queryTerms(query).map((term) => ({ ...term, idf: 2 }));
}

interface Found {
  text: string;
  timeMatch?: number;
  /** Cosine of the chunk. */
  vectorScore?: number;
}

/** `times`: the words of the question that name one. `elsewhere`: words that stand in the workspace, and not in what is shown. */
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
  test.each<[string, string, string[], "strong" | "weak" | "none"]>([
    ["all in one line", "Where did Petra buy the boat?", ["- Petra bought the boat in Kiel."], "strong"],
    ["a line and the one before it", "boat price", ["The boat.\nIts price was high."], "strong"],
    ["a name that nothing holds", "Where did Petra buy the boat?", ["- Anna bought the boat in Kiel."], "none"],
    ["a name that owns what is asked for", "Petra's boat price", ["The boat price is high."], "none"],
    ["a name with a capital inside", "sharding of mongoDB", ["Sharding of Postgres."], "none"],
    ["an identifier that nothing holds", "boat HX-4417", ["The boat is HX-4418."], "none"],
    ["words that stand in different notes", "harbour pilot licence", ["harbour", "pilot", "licence"], "weak"],
    ["words that stand nowhere", "harbour pilot licence", ["The harbour is far."], "weak"],
    ["nothing but capitals that would be a stop word", "US", ["The US mirror."], "strong"],
    ["capitals that nothing holds", "US harbour", ["Us two at the harbour."], "weak"],
    ["a word with a hyphen that a note writes as two", "recipe for ice-cream", ["A recipe for ice cream."], "strong"],
    ["a word with a hyphen that different notes hold the parts of", "ice-cream", ["ice", "cream"], "none"],
  ])("%s", (_what, query, texts, level) => {
    expect(strength(query, ...texts).match.level).toBe(level);
  });

  test("says which name is not there, and why it is weak", () => {
    expect(strength("Where did Petra buy the boat?", "Anna bought the boat.").match.reason).toBe(
      'none of these results holds "Petra"',
    );
    expect(strength("What is Petra's boat?", "Anna bought the boat.").match.reason).toBe(
      'none of these results holds "Petra"',
    );
    expect(strength("harbour pilot licence", "harbour", "pilot", "licence").match.reason).toContain(
      "stand in different notes",
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

describe("where people speak in turn", () => {
  const query = "What race did Melanie run?";
  const weak = { level: "weak", reason: "others than the one who is asked about say most of it" };

  test.each<[string, string, string, "strong" | "weak"]>([
    ["the one asked about says it", query, "- Melanie: I run a race.\n- Caroline: Well done.", "strong"],
    ["another one says it", query, "- Caroline: I run a race, Melanie!\n- Melanie: Lovely.", "weak"],
    ["another one says it of the one asked about", query, "- Caroline: You run a race!\n- Melanie: Yes.", "strong"],
    ["the one asked about says it of another one", query, "- Melanie: You run a race!\n- Caroline: Yes.", "weak"],
    ["another one asks the one asked about", query, "- Caroline: Which race is run?\n- Melanie: 5 km.", "strong"],
    ["the one asked about asks another one", query, "- Melanie: Which race is run?\n- Caroline: 5 km.", "weak"],
    ["one line is of both", query, "- Caroline: I ride. You run a race.\n- Melanie: Yes.", "strong"],
    ["in German", "Welches Rennen läuft Petra?", "- Petra: Läuft gut.\n- Anna: Ich laufe im Rennen", "strong"],
    ["in Chinese", "Petra 马拉松比赛", "- Petra: 好\n- Anna: 你的马拉松比赛", "strong"],
    ["of another one in Chinese", "的 Petra 马拉松比赛", "- Petra: 好\n- Anna: 我的马拉松比赛", "weak"],
  ])("%s", (_what, asked, text, level) => {
    expect(strength(asked, text).match.level).toBe(level);
  });

  test("says that others say it", () => {
    expect(strength(query, "- Caroline: I run a race, Melanie!\n- Melanie: Lovely.").match).toEqual(weak);
  });

  test("a list of things is no conversation: who is asked about says nothing in it", () => {
    const list = "- Boat: Melanie is to run the race.\n- Price: 20";
    expect(strength(query, list).match.level).toBe("strong");
  });
});

describe("words of a time", () => {
  const query = "Where was Petra in July?";

  test("are no names, and a note of that time holds them", () => {
    const ofJuly = [{ text: "Petra was at the lake.", timeMatch: 1 }];
    expect(strengthIn(query, ofJuly).match.reason).toBe('none of these results holds "July"');
    expect(strengthIn(query, ofJuly, { times: ["in July"] })).toEqual({ confidence: 1, match: { level: "strong" } });
  });

  test("stand nowhere where no note is of that time, and a missing name is missing all the same", () => {
    const other = strengthIn(query, [{ text: "Petra was at the lake." }], { times: ["in July"] });
    expect(other.match.level).not.toBe("none");
    expect(other.confidence).toBeLessThan(1);
    const anna = strengthIn(query, [{ text: "Anna was at the lake.", timeMatch: 1 }], { times: ["in July"] });
    expect(anna.match.reason).toBe('none of these results holds "Petra"');
  });
});

describe("a question in German", () => {
  const found = [{ text: "Frau Ostermann verwaltet die Wohnung." }];

  test("holds no match where what no note holds has no article before it", () => {
    expect(strengthIn("Wann hat Frau Ostermann Geburtstag?", found).match).toEqual({
      level: "none",
      reason: 'none of these results holds "Geburtstag"',
    });
    expect(strengthIn("Was hat Wiebke der Wohnung gegeben?", found).match.level).toBe("none");
  });

  test("a thing that the notes call otherwise is only missing", () => {
    expect(strengthIn("Wer verwaltet die Immobilie?", found).match.level).not.toBe("none");
    expect(strengthIn("Wer verwaltet unsere schöne Immobilie?", found).match.level).not.toBe("none");
    expect(strengthIn("Wann hat Frau Ostermann Urlaub?", found, { elsewhere: ["Urlaub"] }).match.level).not.toBe(
      "none",
    );
  });

  test("words that are all written like names are such, where no note holds them", () => {
    expect(strengthIn("Frau Ostermann", found).match.level).toBe("strong");
    expect(strengthIn("Frau Wiebke", found).match.reason).toBe('none of these results holds "Wiebke"');
  });
});

describe("what is near in meaning", () => {
  const scale = { mean: 0.1, deviation: 0.1, weight: 0.15 };
  const near = [{ text: "Die Kasse ist leer.", vectorScore: 0.55 }];
  const [english, german] = ["is there budget left", "Gibt es noch Guthaben?"];

  test("is an answer in other words, as far as the vectors are worth it", () => {
    expect(strengthIn(english, near, { scale }).match).toEqual({ level: "strong" });
    expect(strengthIn(english, near, { scale: { ...scale, weight: 0.03 } }).match).toEqual({
      level: "weak",
      reason: "what is near in meaning holds little of the words that were asked for",
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
    for (const query of [
      "is there budget for Petra",
      "is there budget for HX-4417",
      "Gibt es noch Guthaben für HX-4417?",
    ])
      expect(strengthIn(query, near, { scale }).match.level).toBe("none");
  });

  test("is worth less where others than the one who is asked about say it", () => {
    const text = "- Anna: I run a race.\n- Petra: Lovely.";
    expect(strengthIn("What race did Petra run?", [{ text, vectorScore: 0.6 }], { scale }).match.level).toBe("weak");
  });
});

test.each<[string, string[]]>([
  ["Where did Petra buy the boat?", ["Petra"]],
  ["What is Petra's number?", ["Petra"]],
  ["Petra's number", ["Petra"]],
  ["Plans for the summer", []],
  ["Ask again. Maybe Kiel", ["Kiel"]],
  ["Wann hat der Zahnarzt Zeit?", []],
  ["Heat Pump", []],
  ["what does QF-4093 mean", ["QF-4093"]],
  ["use of MongoDB", ["MongoDB"]],
])("%s names %j, whatever the notes hold", (query, names) => {
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
