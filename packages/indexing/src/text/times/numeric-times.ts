import type { Groups } from "./named-pattern.ts";
import { patternsOf } from "./patterns.ts";
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

function readDay({ y, m, d }: Groups): TimeRead | undefined {
  return dayOf(known("day", oneDay(Number(y), Number(m), Number(d))), Number(m), Number(d));
}

/** The day first or the month, as it is configured, and the other way round where there is no such day. */
function readEither({ a, b, y }: Groups, { dayFirst }: ReadingContext): TimeRead | undefined {
  const of = y?.length === 2 ? 2000 + Number(y) : y;
  const ways = [
    { day: Number(a), month: Number(b) },
    { day: Number(b), month: Number(a) },
  ];
  const way = (dayFirst ? ways : ways.toReversed()).find(
    ({ day, month }) => dayNumber(Number(of ?? 2024), month, day) !== undefined,
  );
  if (way !== undefined) return ofYear("day", of, (year_) => oneDay(year_, way.month, way.day));
  const [wanted] = dayFirst ? ways : ways.toReversed();
  // Without a year it may be a number.
  return wanted && of !== undefined ? dayOf(undefined, wanted.month, wanted.day) : undefined;
}

/** The last such day up to now. */
function readDayOfMonth({ d }: Groups, { today }: ReadingContext): TimeRead | undefined {
  const day = Array.from({ length: 62 }, (_, back) => today - back).find((at) =>
    isoDate(at).endsWith(`-${d?.padStart(2, "0")}`),
  );
  return day === undefined ? undefined : known("day", { from: day, to: day });
}

function readMonth({ y, m }: Groups): TimeRead | undefined {
  return known("month", monthDays(Number(y), Number(m)));
}

function readWeek({ y, w }: Groups): TimeRead | undefined {
  return known("week", weekDays(Number(y), Number(w)));
}

function readQuarter({ y, q }: Groups): TimeRead | undefined {
  return ofYear("season", y, (year) => quarterDays(year, Number(q)));
}

function readHalf({ y, h }: Groups): TimeRead | undefined {
  return known("span", monthDays(Number(y), 6 * Number(h) - 5, 6));
}

function readYears({ y, z }: Groups): TimeRead | undefined {
  const [first, last] = [Number(y), Number(z)];
  return first < last ? known("span", yearDays(first, last - first + 1)) : undefined;
}

function readYear({ y }: Groups): TimeRead | undefined {
  return known("year", yearDays(Number(y)));
}

const readers: Partial<Record<string, (groups: Groups, context: ReadingContext) => TimeRead | undefined>> = {
  day: readDay,
  either: readEither,
  dayOfMonth: readDayOfMonth,
  month: readMonth,
  week: readWeek,
  quarter: readQuarter,
  half: readHalf,
  years: readYears,
  year: readYear,
};
