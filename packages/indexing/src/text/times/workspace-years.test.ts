import { describe, expect, test } from "vitest";
import { readTimes } from "./read-times.ts";
import { now, periodsOf } from "./test/phrases.ts";

/** Day numbers of dates, in order. */
function days(...dates: string[]): number[] {
  return dates.map((date) => Date.parse(date) / 86_400_000).toSorted((a, b) => a - b);
}

describe("a year that is not named", () => {
  test("is the latest up to now where nothing is known of the workspace", () => {
    expect(periodsOf("12 March")).toEqual(["day 2026-03-12"]);
    expect(periodsOf("16 March")).toEqual(["day 2025-03-16"]);
    expect(periodsOf("29 February")).toEqual(["day 2024-02-29"]);
    expect(periodsOf("29 February", { now: new Date(2103, 5, 1) })).toEqual(["day 2096-02-29"]);
  });

  test("is each of those in which the workspace has a note of that day, the latest first", () => {
    const read = readTimes("12 March", { now, days: days("2019-03-12", "2021-03-12", "2022-03-13", "2023-06-01") });
    expect(read.periods.map(({ rank }) => rank)).toEqual([0, 1]);
    expect(periodsOf("12 March", { days: days("2019-03-12", "2021-03-12", "2022-03-13", "2023-06-01") })).toEqual([
      "day 2021-03-12",
      "day 2019-03-12",
    ]);
  });

  test("or, where it has none of that day, of about then, or else of that month", () => {
    expect(periodsOf("12 March", { days: days("2020-03-02", "2021-03-15", "2022-03-28") })).toEqual(["day 2021-03-12"]);
    expect(periodsOf("12 March", { days: days("2020-03-02", "2022-03-28", "2023-07-01") })).toEqual([
      "day 2022-03-12",
      "day 2020-03-12",
    ]);
    expect(periodsOf("12 March", { days: days("2021-03-09", "2022-03-28") })).toEqual(["day 2021-03-12"]);
    expect(periodsOf("12 March", { days: days("2023-07-01") })).toEqual(["day 2026-03-12"]);
  });

  test("is none after now", () => {
    expect(periodsOf("12 May", { days: days("2025-05-12", "2026-05-12") })).toEqual(["day 2025-05-12"]);
  });

  test.each([
    ["in June", ["month 2023-06-01..2023-06-30", "month 2021-06-01..2021-06-30"]],
    ["in summer", ["season 2023-06-01..2023-08-31", "season 2021-06-01..2021-08-31"]],
    ["early June", ["span 2023-06-01..2023-06-10"]],
    ["Ende Juni", ["span 2021-06-21..2021-06-30"]],
    ["六月", ["month 2023-06-01..2023-06-30", "month 2021-06-01..2021-06-30"]],
    ["since June", ["span 2023-06-01..2026-03-15"]],
    ["before June", ["span 1000-01-01..2023-05-31"]],
    ["last summer", ["season 2025-06-01..2025-08-31"]],
    ["June of last year", ["month 2025-06-01..2025-06-30"]],
    ["3-7 June", ["span 2023-06-03..2023-06-07"]],
  ])("of %s", (query, expected) => {
    expect(periodsOf(query, { days: days("2021-06-24", "2023-06-05", "2024-01-01") })).toEqual(expected);
  });

  test("is not asked for where it is named", () => {
    expect(periodsOf("12 March 2018", { days: days("2021-03-12") })).toEqual(["day 2018-03-12"]);
  });
});
