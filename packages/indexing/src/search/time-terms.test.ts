import { expect, test } from "vitest";
import { readTimes } from "../text/times/read-times.ts";
import { timeTerms } from "./time-terms.ts";

const now = new Date(2026, 2, 15);

function termsOf(query: string, days?: readonly number[]): string[] {
  return timeTerms(readTimes(query, { now, days }).periods).map(({ term, prefix }) => (prefix ? `${term}*` : term));
}

test.each([
  ["a question without a time", "heat pump", []],
  ["a day", "on 2026-03-05", ["2026-03-05", "2026-03"]],
  ["some days", "3-5 January 2024", ["2024-01-03", "2024-01-04", "2024-01-05", "2024-01"]],
  ["days of two months", "31 January to 1 February 2024", ["2024-01-31", "2024-02-01", "2024-01", "2024-02"]],
  ["a season", "summer 2023", ["2023-06*", "2023-07*", "2023-08*"]],
  ["many years", "1990 to 2010", Array.from({ length: 21 }, (_, at) => `${1990 + at}-*`)],
  ["all that was before a time", "before 2024", []],
])("%s asks for what its notes stand under", (_, query, expected) => {
  expect(termsOf(query)).toEqual(expected);
});

test("a month is asked for by its days, the first of them first", () => {
  const terms = termsOf("February 2024");
  expect(terms.slice(0, 2)).toEqual(["2024-02-01", "2024-02-02"]);
  expect(terms.slice(-2)).toEqual(["2024-02-29", "2024-02"]);
});

test("however many times are named, a store is asked for 64 terms at most, the likeliest first", () => {
  const days = Array.from({ length: 30 }, (_, year) => Math.floor(Date.UTC(1996 + year, 4, 6) / 86_400_000));
  const terms = termsOf("6 May, July 2025, June 2025 and April 2025", days);
  expect(terms.length).toBe(64);
  expect(terms[0]).toBe("2025-05-06");
});
