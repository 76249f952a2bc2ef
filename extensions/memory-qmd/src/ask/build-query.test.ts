import { describe, expect, test } from "vitest";
import { buildQuery, meaningQuery } from "./build-query.ts";

const lists = (question: string): string[][] => buildQuery(question).map((call) => call.map(({ query }) => query));

describe("a question becomes lists of words", () => {
  test("all together, then each, without words that say nothing", () => {
    expect(lists("Where is the staging server?")).toEqual([["staging server", "staging", "server"]]);
  });

  test("one word is one list", () => {
    expect(lists("boiler")).toEqual([["boiler"]]);
  });

  test("identifiers keep what holds them together inside", () => {
    expect(lists("QX-7919 node.js")).toEqual([["QX-7919 node.js", "QX-7919", "node.js"]]);
    expect(lists("src/agents/router.ts")[0]).toContain("router.ts");
  });

  test("words that say nothing are kept where there are no others", () => {
    expect(lists("who is it")).toEqual([["who is it", "who", "is", "it"]]);
  });

  test("there are never more than ten lists in a call, and long words and identifiers go first", () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${"x".repeat(index)}`);
    const [call = [], ...others] = lists([...words, "A1"].join(" "));
    expect(others).toEqual([]);
    expect(call).toHaveLength(10);
    expect(call).toContain("A1");
    expect(call).toContain(words.at(-1));
    expect(call).not.toContain(words[0]);
  });

  test("a run of characters without spaces is asked for by its pairs too", () => {
    expect(lists("钢琴课")).toEqual([["钢琴课", "钢琴", "琴课"]]);
    expect(lists("膝盖")).toEqual([["膝盖"]]);
    const calls = lists("周三下午三点去仁济医院复查膝盖主治医师是林晓女儿的钢琴课改到周六上午");
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(call.length).toBeLessThanOrEqual(10);
  });

  test("whatever is asked, no list has a quote, a minus at the front of a word, a line end or a control character", () => {
    const hostile = ['"x" -foo', "a\nb\0c", "--not", "“q”", "-", '"', "lex: a\nvec: b", "\u200b", "a".repeat(5000)];
    for (const question of hostile) {
      for (const { query, type } of buildQuery(question).flat()) {
        expect(type).toBe("lex");
        expect(query).not.toMatch(/["\p{Cc}]|(?:^|\s)-/u);
        expect(query.length).toBeLessThanOrEqual(1000);
        expect(query).not.toBe("");
      }
    }
  });

  test("symbols alone become nothing", () => {
    for (const question of ["", " ", "!!!", "🙂", "?", "___"]) expect(buildQuery(question)).toEqual([]);
  });

  test("a question by meaning stays a sentence without line ends and negations", () => {
    expect(meaningQuery('what is -not "here"\nand there')).toEqual({
      type: "vec",
      query: 'what is not "here" and there',
    });
    expect(meaningQuery('--"')).toEqual({ type: "vec", query: '"' });
    expect(meaningQuery("\n")).toBeUndefined();
  });
});
