import { describe, expect, test } from "vitest";
import { readTimes } from "./read-times.ts";
import { timeMatch } from "./time-match.ts";
import { timeOfPath } from "./time-of-path.ts";
import { isoDate } from "./calendar.ts";
import tables from "./test/readings.json" with { type: "json" };

const now = new Date(2026, 2, 15, 12);
const fit = (date: string, query: string): number =>
  timeMatch(Date.parse(date) / 86_400_000, readTimes(query, { now }).periods).match;
const fitOf = (path: string, query: string): number =>
  timeMatch(timeOfPath(path), readTimes(query, { now }).periods).match;

test("inside is 1, after it falls to nothing, before it is little", () => {
  expect(fit("2026-03-05", "2026-03-05")).toBe(1);
  const after = ["2026-03-06", "2026-03-07", "2026-03-10", "2026-03-12"].map((text) => fit(text, "2026-03-05"));
  expect(after).toEqual(after.toSorted((a, b) => b - a));
  expect(after[0]).toBeCloseTo(0.525, 10);
  expect(after.at(-1)).toBeCloseTo(0.075, 10);
  expect(fit("2026-03-13", "2026-03-05")).toBe(0);
  expect(fit("2026-03-04", "2026-03-05")).toBe(0.2);
  expect(fit("2026-02-26", "2026-03-05")).toBe(0.2);
  expect(fit("2026-02-25", "2026-03-05")).toBe(0);
});

test("a month reaches further than a day, a week as far", () => {
  expect(fit("2026-02-28", "in February")).toBe(1);
  expect(fit("2026-03-14", "in February")).toBeGreaterThan(0);
  expect(fit("2026-03-15", "in February")).toBe(0);
  expect(fit("2026-03-15", "last week")).toBeGreaterThan(0);
  expect(fit("2026-03-16", "last week")).toBe(0);
});

test("several times: the best one counts; no time: nothing does", () => {
  expect(fit("2026-01-09", "2026-01-02 or 2026-01-09")).toBe(1);
  expect(timeMatch(undefined, readTimes("2026-01-02", { now }).periods)).toEqual({ match: 0, weight: 0 });
  expect(timeMatch(20_000, [])).toEqual({ match: 0, weight: 0 });
});

test("a note of a week or month fits a time within it, less the longer it is, and one around it fully", () => {
  expect(fitOf("2024-W12.md", "March 2024")).toBe(1);
  expect(fitOf("2024-03.md", "in 2024")).toBe(1);
  const [week, month, year] = ["2024-W12.md", "2024-03.md", "2024.md"].map((path) => fitOf(path, "2024-03-20"));
  expect(week).toBeGreaterThan(month ?? 1);
  expect(month).toBeGreaterThan(year ?? 1);
  expect(year).toBeGreaterThan(0.5);
  expect(fitOf("2024-W12.md", "2024-03-17")).toBeLessThan(0.6);
  expect(fitOf("2024-W12.md", "2024-03-25")).toBe(0.2);
  expect(fitOf("2024-W20.md", "2024-03-20")).toBe(0);
});

test("of several years that may be meant the latest is worth most", () => {
  const { periods } = readTimes("12 March", {
    now,
    days: [2021, 2022, 2023].map((year) => Date.UTC(year, 2, 12) / 86_400_000),
  });
  const fits = ["2023-03-12", "2022-03-12", "2021-03-12"].map(
    (date) => timeMatch(Date.parse(date) / 86_400_000, periods).match,
  );
  expect(fits[0]).toBe(1);
  expect(fits[1]).toBeLessThan(1);
  expect(fits[2]).toBeLessThan(fits[1] ?? 0);
});

test("all before a time is worth less than the time itself", () => {
  expect(fit("2024-03-11", "before 12 March 2024")).toBe(0.5);
  expect(fit("2020-01-01", "before 12 March 2024")).toBe(0.5);
  expect(fit("2024-03-12", "before 12 March 2024")).toBeCloseTo(0.9, 10);
  expect(fit("2024-04-01", "before 12 March 2024")).toBe(0);
  expect(fit("2026-03-10", "since 5 March 2026")).toBe(1);
  expect(fit("2026-03-04", "since 5 March 2026")).toBe(0.2);
});

test("what happened two weeks before a day is told on that day too", () => {
  expect(fit("2023-07-28", "two weeks before August 11, 2023")).toBe(1);
  expect(fit("2023-08-11", "two weeks before August 11, 2023")).toBeCloseTo(0.9, 10);
  expect(fit("2023-08-25", "two weeks before August 11, 2023")).toBe(0);
});

test("a note of the very day weighs more than any words, one of a longer time less, one that is only about then little", () => {
  const weight = (path: string, query: string): number =>
    timeMatch(timeOfPath(path), readTimes(query, { now }).periods).weight;
  expect(weight("2024-03-20.md", "2024-03-20")).toBe(1.2);
  expect(weight("2024-03-20.md", "in March 2024")).toBe(0.8);
  expect(weight("2024-W12.md", "March 2024")).toBe(0.8);
  expect(weight("2024-W12.md", "in 2024")).toBe(0.4);
  expect(weight("2024-W12.md", "2024-03-20")).toBeCloseTo(0.4 * fitOf("2024-W12.md", "2024-03-20"), 10);
  expect(weight("2024-03-21.md", "2024-03-20")).toBeCloseTo(0.4 * fit("2024-03-21", "2024-03-20"), 10);
  expect(weight("2024-03-11.md", "before 12 March 2024")).toBe(0.2);
});

describe("the time of a path", () => {
  test.each(tables.dated as [string, string][])("%s is of %s", (path, expected) => {
    const time = timeOfPath(path);
    expect(time && `${time.unit} ${isoDate(time.from)}..${isoDate(time.to)}`).toBe(expected);
  });

  test.each(tables.undated)("%s is of no time", (path) => {
    expect(timeOfPath(path)).toBeUndefined();
  });
});
