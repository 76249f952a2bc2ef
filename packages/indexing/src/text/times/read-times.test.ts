import { describe, expect, test } from "vitest";
import { isoDate } from "./calendar.ts";
import { readTimes } from "./read-times.ts";
import { now, periodsOf, table } from "./test/phrases.ts";

describe.each(["english", "german", "french", "spanish", "portuguese", "italian", "dutch", "russian", "chinese"])(
  "in %s",
  (language) => {
    test.each(table(language))("%s", (query = "", expected = "", rest?: string) => {
      expect(periodsOf(query).join(" & ")).toBe(expected);
      const read = readTimes(query, { now });
      expect(read.isOnlyTime ? undefined : read.rest).toBe(rest);
      for (const { text, start, end } of read.periods) expect(query.slice(start, end)).toBe(text);
    });
  },
);

describe("what only looks like a time", () => {
  test.each(table("no-times"))("%s", (query = "") => {
    expect(readTimes(query, { now })).toMatchObject({ periods: [], rest: query, isOnlyTime: false });
  });

  test.each(["2026-02-30", "the 31st of February 2026", "April 31, 2026", "13月5日", "2月30日", "31/02/2024"])(
    "%s is no day",
    (query) => {
      expect(periodsOf(query).filter((period) => period.startsWith("day"))).toEqual([]);
      expect(readTimes(query, { now }).noDays).toHaveLength(query === "13月5日" ? 0 : 1);
    },
  );

  test.each<[string, string[]]>([
    ["what did I do on 31 February", ["31 February"]],
    ["was war am 30. Februar 2024", ["30. Februar 2024"]],
    ["29 February 2023", ["29 February 2023"]],
    ["29 February", []],
    ["去年2月30日", ["去年2月30日"]],
    ["1 of 31 members", []],
  ])("%s names the days %j, which there are not", (query, noDays) => {
    expect(readTimes(query, { now }).noDays).toEqual(noDays);
  });
});

describe("several times in one question", () => {
  test("come in its order", () => {
    expect(periodsOf("what changed from last week: 2026-01-02 or 昨天?")).toEqual([
      "week 2026-03-02..2026-03-08",
      "day 2026-01-02",
      "day 2026-03-14",
    ]);
  });

  test("the rest is the question without all of them", () => {
    const read = readTimes("was the budget of 2023 larger than the one in March 2024?", { now });
    expect(read.rest).toBe("was the budget larger than the one ?");
    expect(read.isOnlyTime).toBe(false);
  });
});

describe("what is asked beside a time", () => {
  test.each([
    ["war 2023", false],
    ["was war 2023", true],
    ["what happened yesterday?", true],
    ["what did Anna do yesterday", false],
    ["notes of last week", true],
    ["when did we meet in June", false],
    ["How was my day yesterday?", true],
    ["show me my diary of 2024-03-05, please", true],
    ["昨天的笔记", true],
    ["昨天和妈妈说了什么", false],
    ["Zeig mir alle Notizen von letzter Woche", true],
    ["Qu'est-ce qui s'est passé hier ?", true],
    ["¿Qué pasó la semana pasada?", true],
    ["budget", false],
    ["", false],
  ])("%s: nothing is %s", (query, expected) => {
    expect(readTimes(query, { now }).isOnlyTime).toBe(expected);
  });
});

describe("how days in figures are read", () => {
  test("the day first, unless it is told otherwise or there is no such day", () => {
    expect(periodsOf("3/5/2026")).toEqual(["day 2026-05-03"]);
    expect(periodsOf("3/5/2026", { dayFirst: false })).toEqual(["day 2026-03-05"]);
    expect(periodsOf("3/16/2026")).toEqual(["day 2026-03-16"]);
    expect(periodsOf("16/3/2026", { dayFirst: false })).toEqual(["day 2026-03-16"]);
  });
});

describe("any text", () => {
  test.each([
    "9999-99-99",
    "0000-01-01",
    "9999-12-31",
    "年月日",
    "31/12",
    "-".repeat(10_000),
    "1 ".repeat(10_000),
    "may ".repeat(5000),
    "in the ".repeat(3000),
    "\u0301\ud83d yesterday \udc00",
  ])("is read: %#", (query) => {
    for (const { from, to, text, start, end } of readTimes(query, { now }).periods) {
      expect(to).toBeGreaterThanOrEqual(from);
      expect(query.slice(start, end)).toBe(text);
      expect(isoDate(from)).toMatch(/^\d{4}-/);
    }
  });

  test("is read the same in composed and decomposed letters and in full-width figures", () => {
    for (const query of ["12. März 2024", "la semaine dernière", "２０２４年３月５日"])
      expect(periodsOf(query.normalize("NFD"))).toEqual(periodsOf(query.normalize("NFKC")));
    expect(periodsOf("２０２４年３月５日")).toEqual(["day 2024-03-05"]);
    const decomposed = "was war am 12. März 2024 im Büro".normalize("NFD");
    const [period] = readTimes(decomposed, { now }).periods;
    expect(period?.text).toBe("12. März 2024".normalize("NFD"));
  });
});
