import { expect, test } from "vitest";
import { isoDate } from "../../text/times/calendar.ts";
import { row } from "../test/ranked.ts";
import { daysOfChunk, daysOfLine, linesWithin } from "./chunk-days.ts";
import { readDays } from "./time-limits.ts";

/** A Sunday. */
const now = new Date(2026, 2, 15, 23, 30);
const shown = (days: { from: number; to: number } | undefined): string | undefined =>
  days && `${isoDate(days.from)} ${isoDate(days.to)}`;

test.each([
  ["2026-03-05", "2026-03-05 2026-03-05"],
  ["2026-3-5", "2026-03-05 2026-03-05"],
  ["2024-02", "2024-02-01 2024-02-29"],
  ["2024", "2024-01-01 2024-12-31"],
  [" 2024 ", "2024-01-01 2024-12-31"],
  ["2026-03-05T10:00:00", "2026-03-05 2026-03-05"],
  ["yesterday", "2026-03-14 2026-03-14"],
  ["today", "2026-03-15 2026-03-15"],
  ["last week", "2026-03-02 2026-03-08"],
  ["March 2024", "2024-03-01 2024-03-31"],
  ["12 March 2024", "2024-03-12 2024-03-12"],
  ["10.01.2024", "2024-01-10 2024-01-10"],
  ["昨天", "2026-03-14 2026-03-14"],
  ["letzte Woche", "2026-03-02 2026-03-08"],
  ["yesteryear", undefined],
  ["2026-02-30", undefined],
  ["2026-13", undefined],
  ["0024", undefined],
  ["20240305x", undefined],
  ["2026-03-05T99:00", undefined],
  ["the meeting of March 2024", undefined],
  ["2024-01-01 or 2025-01-01", undefined],
  ["", undefined],
])("%j is %s", (text, expected) => {
  expect(shown(readDays(text, now))).toBe(expected);
});

const log = "before\n\n## 2023-05-01\n\nfirst\n\n### Details\n\nmore\n\n## 2024-12-24\n\nsecond\n\n## Plans\n\nthird";

test.each([
  ["the name of its file", { path: "memory/2026-03-05-trip.md" }, ["2026-03-05 2026-03-05"]],
  ["a week in it", { path: "2024-W12.md" }, ["2024-03-18 2024-03-24"]],
  ["front matter, or messages", { context: "2026-03-05 > Trip" }, ["2026-03-05 2026-03-05"]],
  ["a heading above it", { context: "Log > 2023-05-01" }, ["2023-05-01 2023-05-01"]],
  ["a heading within the month of its note", { path: "2023-05.md", context: "2023-05-07" }, ["2023-05-07 2023-05-07"]],
  ["its note, whatever a heading plans", { path: "2023-05.md", context: "2024-01-01" }, ["2023-05-01 2023-05-31"]],
  [
    "its own day, whatever a heading plans",
    { path: "2023-05-01.md", context: "2024-01-01" },
    ["2023-05-01 2023-05-01"],
  ],
  ["nothing", {}, []],
])("a chunk is of the days of %s", (_, change, expected) => {
  expect(daysOfChunk(row("text", change)).map(shown)).toEqual(expected);
});

test("of a chunk with several days each part is of its own, and only the lines asked for are left", () => {
  const chunk = row(log, { startLine: 11 });
  expect(daysOfChunk(chunk).map(shown)).toEqual(["2023-05-01 2023-05-01", "2024-12-24 2024-12-24"]);
  const lines = log.split("\n");
  const lineOf = (text: string): string[] => daysOfLine(chunk, lines.indexOf(text)).map((days) => isoDate(days.from));
  expect(lineOf("more")).toEqual(["2023-05-01"]);
  expect(lineOf("second")).toEqual(["2024-12-24"]);
  const within = (year: string): ReturnType<typeof linesWithin> =>
    linesWithin(chunk, ({ from }) => isoDate(from).startsWith(year));
  expect(within("2023")).toMatchObject({
    startLine: 13,
    endLine: 19,
    text: "## 2023-05-01\n\nfirst\n\n### Details\n\nmore",
  });
  expect(within("2024")).toMatchObject({ startLine: 21, endLine: 23, text: "## 2024-12-24\n\nsecond" });
  expect(within("2025")).toBeUndefined();
  const whole = row("all of it", { path: "2024-12-24.md" });
  expect(linesWithin(whole, () => true)).toBe(whole);
});
