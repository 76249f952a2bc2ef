import { type Groups, patternsOf } from "./patterns.ts";
import { dayNumber, isoDate, monthDays, oneDay, quarterDays, weekDays, yearDays } from "./calendar.ts";
import { dayOf, findAll, type FoundTime, known, ofYear, type ReadingContext, type TimeRead } from "./found-time.ts";
import { lazily } from "@memslot/core";

/** Times in figures, which are the same in all languages: `2024-01-16`, `16/01/2024`, `2024-W12`, `Q3 2024`, `2024`. */
export function numericTimes(text: string, context: ReadingContext): FoundTime[] {
  if (!/\d/.test(text)) return [];
  return rules().flatMap(([pattern, kind]) =>
    findAll(text, pattern, undefined, (groups) => readers[kind]?.(groups, context)),
  );
}

const rules = lazily(() => patternsOf("figures", "g"));

const readers: Partial<Record<string, (groups: Groups, context: ReadingContext) => TimeRead | undefined>> = {
  day: ({ y, m, d }) => dayOf(known("day", oneDay(Number(y), Number(m), Number(d))), Number(m), Number(d)),

  /** The day first or the month, as it is configured, and the other way round where there is no such day. */
  either({ a, b, y }, { dayFirst }) {
    const year = y?.length === 2 ? 2000 + Number(y) : y;
    const ways = [
      { day: Number(a), month: Number(b) },
      { day: Number(b), month: Number(a) },
    ];
    if (!dayFirst) ways.reverse();
    const way = ways.find(({ day, month }) => dayNumber(Number(year ?? 2024), month, day) !== undefined);
    if (way !== undefined) return ofYear("day", year, (each) => oneDay(each, way.month, way.day));
    const [wanted] = ways;
    // Without a year it may be a number.
    return wanted && year !== undefined ? dayOf(undefined, wanted.month, wanted.day) : undefined;
  },

  /** The last such day up to now. */
  dayOfMonth({ d }, { today }) {
    const days = Array.from({ length: 62 }, (_, back) => today - back);
    const day = days.find((each) => isoDate(each).endsWith(`-${d?.padStart(2, "0")}`));
    return day === undefined ? undefined : known("day", { from: day, to: day });
  },

  month: ({ y, m }) => known("month", monthDays(Number(y), Number(m))),
  week: ({ y, w }) => known("week", weekDays(Number(y), Number(w))),
  quarter: ({ y, q }) => ofYear("season", y, (year) => quarterDays(year, Number(q))),
  half: ({ y, h }) => known("span", monthDays(Number(y), 6 * Number(h) - 5, 6)),
  years: ({ y, z }) =>
    Number(y) < Number(z) ? known("span", yearDays(Number(y), Number(z) - Number(y) + 1)) : undefined,
  year: ({ y }) => known("year", yearDays(Number(y))),
};
