import { describe, expect, test } from "vitest";
import { matchLines } from "./line-scores.ts";
import { maxSnippetLength, snippetOf } from "./snippet.ts";
import { indexTerms, queryTerms } from "../text/words.ts";
import { collectChecks } from "../../test/support/collect-checks.ts";
import { weightedTerms } from "./test/ranked.ts";
import { randomFrom, randomSentence, randomText } from "../../test/support/random.ts";

function snippet(lines: readonly string[], query: string, limit?: number): string {
  const terms = weightedTerms(query);
  return snippetOf(lines, matchLines(lines, "", terms).lines, terms, limit);
}

function filler(count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `filler line ${index} with some words that nobody looks for at all`,
  );
}

describe("a chunk that fits", () => {
  test("is shown whole", () => {
    expect(snippet(["# Title", "", "text"], "text")).toBe("# Title\n\ntext");
    expect(snippet(["x".repeat(maxSnippetLength)], "text")).toHaveLength(700);
  });
});

describe("a chunk that is too long", () => {
  test("is cut around the match, in whole lines, with … for what is left out", () => {
    const lines = [...filler(20), "the budget was approved", ...filler(20)];
    const shown = snippet(lines, "budget approved").split("\n");
    expect(shown).toContain("the budget was approved");
    expect(shown[0]).toBe("…");
    expect(shown.at(-1)).toBe("…");
    for (const line of shown) expect([...lines, "…"]).toContain(line);
    expect(shown.join("\n").length).toBeGreaterThan(500);
    expect(shown.join("\n").length).toBeLessThanOrEqual(700);
  });

  test("matches that are far apart are both shown, with … between them", () => {
    const lines = ["the budget of March", ...filler(30), "approved by Anna"];
    const shown = snippet(lines, "budget approved");
    expect(shown.startsWith("the budget of March\n")).toBe(true);
    expect(shown).toContain("\n…\n");
    expect(shown.endsWith("\napproved by Anna")).toBe(true);
  });

  test("blank lines that are left out are no gap", () => {
    const lines = ["budget", "", "approved", ...filler(30)];
    expect(snippet(lines, "budget approved").startsWith("budget\napproved\n")).toBe(true);
  });

  test("the rarest word decides where it is cut", () => {
    const lines = [...Array.from({ length: 20 }, () => `common ${"x ".repeat(40)}`), "rare word", ...filler(20)];
    const terms = weightedTerms("common rare", { common: 900, rare: 1 });
    expect(snippetOf(lines, matchLines(lines, "", terms).lines, terms)).toContain("rare word");
  });

  /** Lines so long that only two of them fit. */
  const long = (text: string): string => `${text} ${"x".repeat(300 - text.length)}`;

  test("the line behind a question is shown with it", () => {
    const answer = long("by the old bridge");
    const question = `${long("Where do we meet for dinner")}?`;
    const lines = [...filler(8), long("the line before"), question, answer, ...filler(8)];
    expect(snippet(lines, "meet dinner")).toContain(`${question}\n${answer}`);
  });

  test("what stands around the match goes before a much weaker match elsewhere", () => {
    const around = long("on the third of May");
    const lines = [long("a common word"), ...filler(8), "", long("the rare budget was approved"), around, ...filler(8)];
    const terms = weightedTerms("rare budget approved common", { common: 900 });
    expect(snippetOf(lines, matchLines(lines, "", terms).lines, terms)).toContain(around);
  });

  test("without any match its beginning is shown", () => {
    expect(snippet(filler(30), "zebra").startsWith("filler line 0 ")).toBe(true);
  });

  test.each([690, 695, 696, 697, 698, 699, 700])("a matching line of %i characters among others is shown", (length) => {
    const line = `${"x ".repeat(500)}`.slice(0, length - 7) + " budget";
    for (const lines of [
      [...filler(5), line, ...filler(5)],
      [line, ...filler(5)],
      [...filler(5), line],
    ]) {
      expect(snippet(lines, "budget")).toContain("budget");
      expect(snippet(lines, "budget").length).toBeLessThanOrEqual(700);
    }
  });
});

describe("a line that is too long by itself", () => {
  test("is cut around the match, between words", () => {
    const line = `${"before ".repeat(300)}the budget was approved ${"after ".repeat(300)}`;
    const shown = snippet([line], "budget approved");
    expect(shown).toContain("the budget was approved");
    expect(shown).toMatch(/^…(before )+the .* (after)…$/);
    expect(shown.length).toBeLessThanOrEqual(700);
    expect(shown.length).toBeGreaterThan(550);
    expect(Math.abs(shown.indexOf("budget") - 350)).toBeLessThan(100);
  });

  test("shows its beginning or end without … where the match stands there", () => {
    expect(snippet([`budget ${"x ".repeat(2000)}`], "budget")).toMatch(/^budget .*…$/);
    expect(snippet([`${"x ".repeat(2000)}budget`], "budget")).toMatch(/^….* budget$/);
  });

  test("shows the place with most of the query", () => {
    const line = `budget ${"x ".repeat(1000)} budget approved ${"x ".repeat(1000)} approved`;
    expect(snippet([line], "budget approved")).toContain("budget approved");
  });

  test("in Chinese is cut around the match as well", () => {
    const line = `${"今天天气很好，我们去公园散步。".repeat(80)}决定重建数据库索引。${"明天再去一次公园。".repeat(80)}`;
    const shown = snippet([line], "数据库索引");
    expect(shown).toContain("重建数据库索引");
    expect(shown.length).toBeLessThanOrEqual(700);
  });

  test("in a chunk with shorter lines the match is still shown", () => {
    const long = `${"before ".repeat(200)}the budget was approved ${"after ".repeat(200)}`;
    expect(snippet([...filler(10), long, ...filler(10)], "budget")).toContain("the budget was approved");
  });

  test("is never cut inside a surrogate pair, nor gets longer for that", () => {
    for (const shift of ["", "=", "==", "==="]) {
      for (const line of [
        `${"👍".repeat(800)}${shift}budget${"=".repeat(1600)}`,
        `${"=".repeat(1600)}budget${shift}${"👍".repeat(800)}`,
        `${shift}${"👍".repeat(800)}budget${shift}${"👍".repeat(800)}`,
      ]) {
        const shown = snippet([line], "budget");
        expect(shown).toContain("budget");
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(700);
      }
    }
  });

  test("without a match shows its beginning", () => {
    expect(snippet([`first ${"x ".repeat(2000)}`], "zebra")).toMatch(/^first /);
  });
});

describe("any chunk", () => {
  test("the snippet is within the limit, well-formed, made of the text, and holds a match", () => {
    const random = randomFrom(11);
    const { wrong, check } = collectChecks();
    const makers: (() => string)[] = [
      () => randomSentence(random, 30),
      () => randomSentence(random, 30),
      () => randomSentence(random, 400),
      () => "",
      () => random.pick(["a", "", "ab"]) + "👍𠮷".repeat(random.below(400)),
      () => "数据库索引".repeat(random.below(200)),
      () => randomText(random, 300).toWellFormed().replaceAll("\n", " "),
      () => `${"x".repeat(690 + random.below(20))} budget`.slice(-690 - random.below(20)),
    ];
    for (let round = 0; round < 800; round++) {
      const lines = Array.from({ length: 1 + random.below(20) }, () => random.pick(makers)());
      const query = random.pick(["budget", "QX-7919", "deploy server Friday", "数据库", "家", "zebra", "𠮷"]);
      const shown = snippet(lines, query);
      const note = `round ${round}: ${JSON.stringify(shown)}`;
      check(shown.length <= 700, `${note} is too long`);
      check(shown.isWellFormed(), `${note} is cut inside a character`);
      const text = lines.join("\n");
      for (const part of shown.split("\n"))
        check(text.includes(part) || text.includes(part.replace(/^…/, "").replace(/…$/, "")), `${note} is made up`);
      const holds = (where: string): boolean => {
        const known = indexTerms(where).split(" ");
        return queryTerms(query).some(({ term, prefix }) =>
          known.some((word) => (prefix ? word.startsWith(term) : word === term)),
        );
      };
      check(holds(shown) === holds(text), `${note} for ${query}`);
    }
    expect(wrong).toEqual([]);
  });
});
