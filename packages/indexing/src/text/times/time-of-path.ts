import { chineseNumber, type Groups, groupsOf, patternsOf } from "./grammar.ts";
import { type Days, monthDays, oneDay, quarterDays, weekDays, yearDays } from "./calendar.ts";
import { remembered } from "../word-cache.ts";
import type { TimeUnit } from "./found-time.ts";

/** Goes up when names or the dates of front matter are read otherwise: notes are indexed with the day in theirs. */
export const pathTimesVersion = 2;

export interface NotedTime extends Days {
  unit: Extract<TimeUnit, "day" | "week" | "month" | "season" | "year">;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const readers: Partial<Record<string, (parts: Groups) => NotedTime | undefined>> = {
  day: (parts) => noted("day", oneDay(Number(parts["y"]), monthNumber(parts), chineseNumber(parts["d"]) ?? 0)),
  month(parts) {
    const month = monthNumber(parts);
    return month >= 1 && month <= 12 ? noted("month", monthDays(Number(parts["y"]), month)) : undefined;
  },
  week: ({ y, w }) => noted("week", weekDays(Number(y), Number(w))),
  quarter: ({ y, w }) => noted("season", quarterDays(Number(y), Number(w))),
  year: ({ y }) => noted("year", yearDays(Number(y))),
};
/** The first that matches tells. Slashes are part of some: `2026/03/05.md`. */
const names = patternsOf("names", "iu");

/** The day, week, month, quarter or year in the name of a note, such as `memory/2026-03-05-trip.md`. */
export const timeOfPath: (path: string) => NotedTime | undefined = remembered((path) => {
  // Each has a year of four figures, and most notes have none in their names.
  for (const [name, kind] of /\d{4}/u.test(path) ? names : []) {
    const parts = groupsOf(name.exec(path));
    const time = parts && readers[kind]?.(parts);
    if (time) return time;
  }
  return undefined;
});

function monthNumber({ m, name }: Groups): number {
  return name === undefined ? (chineseNumber(m) ?? 0) : months.indexOf(name.toLowerCase().slice(0, 3)) + 1;
}

function noted(unit: NotedTime["unit"], days: Days | undefined): NotedTime | undefined {
  return days && { ...days, unit };
}
