import { describe, expect, test } from "vitest";
import { dateHints, dateMatch, dateOfPath, isoDate } from "./query-dates.ts";

const now = new Date(2026, 2, 15, 12);

/** The spans that a query names, as dates. */
function spans(query: string, at = now): string[] {
  return dateHints(query, at).map(
    ({ from, to, unit }) => `${unit} ${isoDate(from)}${to === from ? "" : ` to ${isoDate(to)}`}`,
  );
}

describe("dates in a query", () => {
  test.each([
    ["what happened on 2026-03-05?", ["day 2026-03-05"]],
    ["2026/3/5", ["day 2026-03-05"]],
    ["2026.03.05", ["day 2026-03-05"]],
    ["2024年2月29日的会议", ["day 2024-02-29"]],
    ["2025年12月 计划", ["month 2025-12-01 to 2025-12-31"]],
    ["notes of 2026-02", ["month 2026-02-01 to 2026-02-28"]],
    ["on March 5, 2025", ["day 2025-03-05"]],
    ["on Mar. 5th 2025", ["day 2025-03-05"]],
    ["the 5th of march 2025", ["day 2025-03-05"]],
    ["5 Sept 2025", ["day 2025-09-05"]],
    ["in December 2024", ["month 2024-12-01 to 2024-12-31"]],
    ["what did we do in 2024", ["year 2024-01-01 to 2024-12-31"]],
    ["2024年的预算", ["year 2024-01-01 to 2024-12-31"]],
    ["from 2026-01-02 to 2026-01-09", ["day 2026-01-02", "day 2026-01-09"]],
  ])("%s", (query, expected) => {
    expect(spans(query)).toEqual(expected);
  });

  test.each([
    ["on March 5", ["day 2026-03-05"]],
    ["on March 15", ["day 2026-03-15"]],
    ["on March 16", ["day 2025-03-16"]],
    ["25 December", ["day 2025-12-25"]],
    ["in February", ["month 2026-02-01 to 2026-02-28"]],
    ["in March", ["month 2026-03-01 to 2026-03-31"]],
    ["last april", ["month 2025-04-01 to 2025-04-30"]],
    ["3月5日做了什么", ["day 2026-03-05"]],
    ["12月25号", ["day 2025-12-25"]],
    ["11月的会", ["month 2025-11-01 to 2025-11-30"]],
  ])("without a year, %s is the last one", (query, expected) => {
    expect(spans(query)).toEqual(expected);
  });

  test.each([
    ["what did I do today", ["day 2026-03-15"]],
    ["yesterday's decision", ["day 2026-03-14"]],
    ["昨天的决定", ["day 2026-03-14"]],
    ["前天", ["day 2026-03-13"]],
    ["last week", ["day 2026-03-02 to 2026-03-14"]],
    ["上周", ["day 2026-03-02 to 2026-03-14"]],
    ["this month", ["day 2026-02-13 to 2026-03-15"]],
    ["上个月", ["day 2026-01-13 to 2026-03-01"]],
  ])("%s is counted from now", (query, expected) => {
    expect(spans(query)).toEqual(expected);
  });

  test.each([
    "2026-02-30",
    "2026-13-01",
    "2025-02-29",
    "2026-00-10",
    "the 31st of February 2026",
    "April 31, 2026",
    "13月5日",
    "2月30日",
    "port 8080",
    "QX-2026",
    "1234567890",
    "may we go",
    "he will march on",
    "the second of many",
    "",
  ])("%j names no day", (query) => {
    expect(spans(query).filter((span) => span.startsWith("day"))).toEqual([]);
  });

  test("a number that is no year and a word that is no month say nothing", () => {
    for (const query of ["port 8080", "QX-2026", "1234567890", "may we go", "he will march on", ""])
      expect(spans(query)).toEqual([]);
  });

  test("any text is read", () => {
    for (const query of [
      "9999-99-99",
      "0000-01-01",
      "年月日",
      "2026年",
      "31/12",
      "-".repeat(10_000),
      "1 ".repeat(10_000),
    ])
      for (const { from, to } of dateHints(query, now)) expect(to).toBeGreaterThanOrEqual(from);
  });
});

describe("the date of a file", () => {
  test.each([
    ["memory/2026-03-05.md", "2026-03-05"],
    ["memory/2026-03-05-trip.md", "2026-03-05"],
    ["2026-03-05.md", "2026-03-05"],
    ["memory/office/2026-03-05.md", "2026-03-05"],
  ])("%s", (file, expected) => {
    expect(isoDate(dateOfPath(file) ?? 0)).toBe(expected);
  });

  test.each([
    "MEMORY.md",
    "memory/2026-02-30.md",
    "memory/2026-03-05/notes.md",
    "memory/trip-2026-03-05.md",
    "memory/12026-03-05.md",
  ])("%s has none", (file) => {
    expect(dateOfPath(file)).toBeUndefined();
  });
});

describe("how well a day fits", () => {
  const day = (text: string): number => Date.parse(text) / 86_400_000;
  const fit = (text: string, query: string): number => dateMatch(day(text), dateHints(query, now));

  test("inside is 1, after it falls to nothing, before it is little", () => {
    expect(fit("2026-03-05", "2026-03-05")).toBe(1);
    const after = ["2026-03-06", "2026-03-07", "2026-03-10", "2026-03-12"].map((text) => fit(text, "2026-03-05"));
    expect(after).toEqual(after.toSorted((a, b) => b - a));
    expect(after[0]).toBeLessThanOrEqual(0.6);
    expect(after.at(-1)).toBeGreaterThan(0);
    expect(fit("2026-03-13", "2026-03-05")).toBe(0);
    expect(fit("2026-03-04", "2026-03-05")).toBe(0.2);
    expect(fit("2026-02-25", "2026-03-05")).toBe(0);
  });

  test("a month reaches further than a day", () => {
    expect(fit("2026-02-28", "in February")).toBe(1);
    expect(fit("2026-03-14", "in February")).toBeGreaterThan(0);
    expect(fit("2026-03-15", "in February")).toBe(0);
  });

  test("several dates: the best one counts; no date: nothing does", () => {
    expect(fit("2026-01-09", "2026-01-02 or 2026-01-09")).toBe(1);
    expect(dateMatch(undefined, dateHints("2026-01-02", now))).toBe(0);
    expect(dateMatch(day("2026-01-02"), [])).toBe(0);
  });
});
