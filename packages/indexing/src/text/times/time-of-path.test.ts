import { expect, test } from "vitest";
import { isoDate } from "./calendar.ts";
import { timeOfPath } from "./time-of-path.ts";

test.each([
  ["memory/2026-03-05.md", "day 2026-03-05..2026-03-05"],
  ["memory/2026-03-05-trip.md", "day 2026-03-05..2026-03-05"],
  ["2026-03-05.md", "day 2026-03-05..2026-03-05"],
  ["2026-03-05.markdown", "day 2026-03-05..2026-03-05"],
  ["memory/office/2026-03-05.md", "day 2026-03-05..2026-03-05"],
  ["2026/03/05.md", "day 2026-03-05..2026-03-05"],
  ["journal/2026/03-March/05 Thursday.md", "day 2026-03-05..2026-03-05"],
  ["20260305.md", "day 2026-03-05..2026-03-05"],
  ["zettel/202603051230 Heat pump.md", "day 2026-03-05..2026-03-05"],
  ["journals/2026_03_05.md", "day 2026-03-05..2026-03-05"],
  ["2026.03.05.md", "day 2026-03-05..2026-03-05"],
  ["日记/2026年3月5日.md", "day 2026-03-05..2026-03-05"],
  ["March 5th, 2026.md", "day 2026-03-05..2026-03-05"],
  ["roam/May 1st, 2024.md", "day 2024-05-01..2024-05-01"],
  ["5 March 2026.md", "day 2026-03-05..2026-03-05"],
  ["weekly/2024-W12.md", "week 2024-03-18..2024-03-24"],
  ["2024/W12.md", "week 2024-03-18..2024-03-24"],
  ["2024-W12 review.md", "week 2024-03-18..2024-03-24"],
  ["2024-03.md", "month 2024-03-01..2024-03-31"],
  ["2024/03.md", "month 2024-03-01..2024-03-31"],
  ["2024-03 March.md", "month 2024-03-01..2024-03-31"],
  ["March 2024.md", "month 2024-03-01..2024-03-31"],
  ["2024年3月.md", "month 2024-03-01..2024-03-31"],
  ["2024-Q3.md", "season 2024-07-01..2024-09-30"],
  ["yearly/2024.md", "year 2024-01-01..2024-12-31"],
])("%s is of %s", (path, expected) => {
  const time = timeOfPath(path);
  expect(time && `${time.unit} ${isoDate(time.from)}..${isoDate(time.to)}`).toBe(expected);
});

test.each([
  "MEMORY.md",
  "memory/2026-02-30.md",
  "memory/2026-03-05/notes.md",
  "memory/trip-2026-03-05.md",
  "memory/12026-03-05.md",
  "2024/notes.md",
  "2024-13.md",
  "2024-W60.md",
  "1234567890.md",
  "20261305.md",
  "May.md",
  "ports 2024.md",
  "2024-25.md",
  "03/05.md",
])("%s is of no time", (path) => {
  expect(timeOfPath(path)).toBeUndefined();
});
