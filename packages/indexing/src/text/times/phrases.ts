import { lazily } from "@memslot/core/host";
import {
  type Days,
  dayNumber,
  holidayDays,
  isoDate,
  isOneDay,
  joined,
  monthDays,
  oneDay,
  quarterDays,
  seasonDays,
  thirdOf,
  weekDays,
  weekdayOf,
  yearDays,
} from "./calendar.ts";
import {
  agoDays,
  besideToday,
  dayOf,
  findAll,
  type FoundTime,
  known,
  loneUnless,
  ofYear,
  type ReadingContext,
  recentDays,
  sameDayAgo,
  type TimeRead,
  unitBeside,
  weekdayBeside,
} from "./found-time.ts";
import { type Grammar, grammarsFor, type Groups, indexOf, patternsOf } from "./grammar.ts";
import type { Language } from "./language.ts";

type Reader<Reading> = (groups: Groups, reading: Reading) => TimeRead | undefined;

/** Times in figures, which are the same in all languages: `2024-01-16`, `16/01/2024`, `2024-W12`, `Q3 2024`, `2024`. */
export function numericTimes(text: string, context: ReadingContext): FoundTime[] {
  if (!/\d/.test(text)) return [];
  return figures().flatMap(([pattern, kind]) =>
    findAll(text, pattern, undefined, (groups) => figureReaders[kind]?.(groups, context)),
  );
}

const figures = lazily(() => patternsOf("figures", "g"));

const figureReaders: Readonly<Record<string, Reader<ReadingContext>>> = {
  day: ({ y, m, d }) => dayOf(known("day", oneDay(Number(y), Number(m), Number(d))), Number(m), Number(d)),

  /** The day first, or the month if that date does not exist. */
  either({ a, b, y }) {
    const year = y?.length === 2 ? 2000 + Number(y) : y;
    const [first, second] = [Number(a), Number(b)];
    const isDay = (month: number, day: number): boolean => dayNumber(Number(year ?? 2024), month, day) !== undefined;
    if (isDay(second, first)) return ofYear("day", year, (each) => oneDay(each, second, first));
    if (isDay(first, second)) return ofYear("day", year, (each) => oneDay(each, first, second));
    // Without a year it may be a number.
    return year === undefined ? undefined : dayOf(undefined, second, first);
  },

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

/** The times that a text names in words, in all languages with spaces, those that overlap too. */
export function phraseTimes(text: string, context: ReadingContext): FoundTime[] {
  return grammarsFor(text).flatMap((grammar) => {
    const { name, dates, phrases } = grammar;
    if (dates === undefined) return [];
    return phrases().flatMap(([pattern, kind]) =>
      findAll(text, pattern, name, (groups, { index }) => {
        const before = text.slice(Math.max(0, index - 60), index);
        return phraseReaders[kind]?.(withLongYear(groups), { ...context, grammar, dates, before });
      }),
    );
  });
}

interface PhraseReading extends ReadingContext {
  grammar: Grammar;
  dates: Language;
  before: string;
}

const phraseReaders: Readonly<Record<string, Reader<PhraseReading>>> = {
  date({ d, dw, m, y }, { grammar, dates }) {
    const [month, day] = [monthNumber(dates, m), grammar.ordinalOf(d ?? dw)];
    return dayOf(
      ofYear("day", y, (in_) => oneDay(in_, month, day)),
      month,
      day,
    );
  },

  dates({ d, dw, d2, dw2, m, y, and }, { grammar, dates, before }) {
    const [month, first, last] = [monthNumber(dates, m), grammar.ordinalOf(d ?? dw), grammar.ordinalOf(d2 ?? dw2)];
    if (first >= last || (and !== undefined && !grammar.pattern("betweenDays").test(before))) return undefined;
    return asRange(ofYear("span", y, (in_) => joined(oneDay(in_, month, first), oneDay(in_, month, last))));
  },

  months({ m, m2, y }, { grammar, dates, before }) {
    if (y === undefined && !grammar.pattern("opened").test(before)) return undefined;
    const [first, last] = [monthNumber(dates, m), monthNumber(dates, m2)];
    return asRange(
      ofYear("span", y, (in_) => joined(monthDays(last < first ? in_ - 1 : in_, first), monthDays(in_, last))),
    );
  },

  named({ x = "", y }, reading) {
    const name = nameOf(reading.dates, x);
    return name && loneUnless(y !== undefined || name.isSure || isAnnounced(reading), ofYear(name.unit, y, name.days));
  },

  namedBeside({ x = "", ...groups }, { dates, today }) {
    const name = nameOf(dates, x);
    return name && besideToday(name.unit, today, stepOf(groups), name.days);
  },

  relativeDay({ x = "" }, { dates: { relativeDays }, today }) {
    const offset = Object.values(relativeDays)[indexOf(Object.keys(relativeDays), x)];
    return offset === undefined ? undefined : known("day", { from: today + offset, to: today + offset });
  },

  past: ({ u }, { grammar, today }) => recentDays(1, grammar.unitOf(u), today),

  /** "Recently" may stand beside anything, "in den letzten Tagen" is a time. */
  lately: ({ x = "" }, { today }) => loneUnless(x.includes(" "), recentDays(2, "week", today)),

  part({ u, ...groups }, { grammar, today }) {
    const [unit, part] = [grammar.unitOf(u), (["early", "middle", "late"] as const).find((name) => groups[name])];
    if (unit === undefined || unit === "day" || unit === "weekend" || part === undefined) return undefined;
    return known("span", thirdOf(unitBeside(unit, 0, today)?.days(0), part));
  },

  beforeLast: ({ u }, { grammar, today }) => unitBeside(grammar.unitOf(u), -2, today),
  unitBeside: ({ u, ...groups }, { grammar, today }) => unitBeside(grammar.unitOf(u), stepOf(groups), today),
  weekend: (_, reading) =>
    loneUnless(isAnnounced(reading), unitBeside("weekend", weekdayOf(reading.today) < 5 ? -1 : 0, reading.today)),
  ago: ({ n, u }, { grammar, dates, today }) => agoDays(countOf(grammar, dates, n), grammar.unitOf(u), today),
  oneAgo: ({ u }, { grammar, today }) => agoDays(1, grammar.unitOf(u), today),
  sameDay: ({ n, u }, { grammar, dates, today }) => sameDayAgo(countOf(grammar, dates, n), grammar.unitOf(u), today),
  recent: ({ n, u }, { grammar, dates, today }) => recentDays(countOf(grammar, dates, n), grammar.unitOf(u), today),
  loneWeekday: ({ x = "" }, reading) =>
    loneUnless(isAnnounced(reading), weekdayBeside(indexOf(reading.dates.weekdays, x), -1, reading.today)),
  weekday: ({ x = "", ...groups }, { dates, today }) =>
    weekdayBeside(indexOf(dates.weekdays, x), stepOf(groups), today),

  weekNumber({ k = "", w, y }, reading) {
    const read = ofYear("week", y, (in_) => weekDays(in_, Number(w)));
    return loneUnless(y !== undefined || k.startsWith("k") || isAnnounced(reading), read);
  },

  ordinalQuarter: ({ o, y }, { grammar }) => ofYear("season", y, (in_) => quarterDays(in_, grammar.ordinalOf(o))),
  year: ({ y }) => known("year", yearDays(Number(y))),
  decade: ({ y = "" }) =>
    known("span", yearDays(y.length === 4 ? Number(y) : 1900 + Number(y) + (Number(y) < 30 ? 100 : 0), 10)),
};

/** '23 is 2023, and '98 is 1998. */
function withLongYear({ yy, ...groups }: Groups): Groups {
  return yy === undefined ? groups : { ...groups, y: String(Number(yy) + (Number(yy) < 50 ? 2000 : 1900)) };
}

/** Whether the preceding words show that "May" or "summer" is a date. */
function isAnnounced({ grammar, before }: PhraseReading): boolean {
  return grammar.pattern("announced").test(before);
}

function monthNumber({ months }: Language, word = ""): number {
  return indexOf(months, word) + 1;
}

function countOf(grammar: Grammar, { few }: Language, word = ""): number | undefined {
  return indexOf([few], word) === 0 ? 0 : grammar.numberOf(word);
}

interface Named {
  unit: FoundTime["unit"];
  days(year: number): Days | undefined;
  isSure: boolean;
}

function nameOf({ months, loneMonths, seasons, holidays }: Language, word: string): Named | undefined {
  const month = indexOf(months, word);
  if (month >= 0)
    return { unit: "month", days: (year) => monthDays(year, month + 1), isSure: indexOf([loneMonths], word) === 0 };
  const season = keyOf(seasons, word);
  if (season !== undefined) return { unit: "season", days: (year) => seasonDays(year, season), isSure: false };
  const holiday = keyOf(holidays, word);
  if (holiday === undefined) return undefined;
  return { unit: isOneDay(holiday) ? "day" : "span", days: (year) => holidayDays(holiday, year), isSure: false };
}

function keyOf<Key extends string>(patterns: Readonly<Record<Key, string>>, word: string): Key | undefined {
  return (Object.keys(patterns) as Key[]).find((key) => indexOf([patterns[key]], word) === 0);
}

function stepOf(groups: Groups): number {
  if (groups["bl"] !== undefined || groups["al"] !== undefined) return -1;
  return groups["bn"] !== undefined || groups["an"] !== undefined ? 1 : 0;
}

function asRange(read: TimeRead | undefined): TimeRead | undefined {
  return read && { ...read, isRange: true };
}
