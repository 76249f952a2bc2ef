import { type Days, firstDay, monthDays, monthOf, weekAround, weekdayOf, yearOf } from "./calendar.ts";
import type { CountedUnit } from "./language.ts";
import { type Groups, groupsOf } from "./grammar.ts";

export type TimeUnit = "day" | "week" | "month" | "season" | "year" | "span";

export interface FoundTime {
  start: number;
  end: number;
  unit: TimeUnit;
  /** Whether the words say of which year it is; where not, `days` is asked with one. */
  hasYear: boolean;
  days(year: number): Days | undefined;
  /** What the time is measured from, where it is not the time itself: "March" in "since March". */
  named?: { unit: TimeUnit; days(year: number): Days | undefined } | undefined;
  /** Open on one side. */
  isOpen?: boolean | undefined;
  /** 0 is Monday. */
  weekday?: number | undefined;
  /** Ambiguous word ("Friday", "summer"): a date only beside another one or alone in the query. */
  lone?: boolean | undefined;
  /** A range: a "from" before it does not mean "since". */
  isRange?: boolean | undefined;
  /** A date that does not exist: the 31st of February. */
  isNoDay?: boolean | undefined;
  languages: readonly string[];
}

export interface ReadingContext {
  today: number;
}

export function findAll(
  text: string,
  pattern: RegExp,
  language: string | undefined,
  read: (groups: Groups, match: RegExpExecArray) => TimeRead | undefined,
): FoundTime[] {
  const found: FoundTime[] = [];
  for (const match of text.matchAll(pattern)) {
    const time = read(groupsOf(match) ?? {}, match);
    if (time && exists(time))
      found.push({
        ...time,
        start: match.index,
        end: match.index + match[0].length,
        languages: language === undefined ? [] : [language],
      });
  }
  return found;
}

export type TimeRead = Omit<FoundTime, "start" | "end" | "languages">;

export function known(unit: TimeUnit, days: Days | undefined): TimeRead | undefined {
  return days && { unit, hasYear: true, days: () => days };
}

/** A time of a year that the words name, or leave open. */
export function ofYear(
  unit: TimeUnit,
  year: string | number | undefined,
  days: (year: number) => Days | undefined,
): TimeRead | undefined {
  return year === undefined || year === "" ? { unit, hasYear: false, days } : known(unit, days(Number(year)));
}

/** A day of a month, and one that no calendar has where its number is one of a day. */
export function dayOf(read: TimeRead | undefined, month: number, day: number): TimeRead | undefined {
  if (read !== undefined && exists(read)) return read;
  const isWritten = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  return isWritten ? { unit: "day", hasYear: true, days: () => undefined, isNoDay: true } : undefined;
}

export function besideToday(
  unit: TimeUnit,
  today: number,
  step: number,
  days: (year: number) => Days | undefined,
): TimeRead | undefined {
  const year = yearOf(today);
  const near = [year + 1, year, year - 1, year - 2].map(days).filter((span) => span !== undefined);
  const past = near.find(({ to }) => to < today);
  const coming = near.findLast(({ from }) => from > today);
  const current = near.find(({ from, to }) => from <= today && today <= to) ?? days(year);
  return known(unit, step < 0 ? past : step > 0 ? coming : current);
}

function exists({ hasYear, days, isNoDay }: TimeRead): boolean {
  return isNoDay === true || hasYear || days(2024) !== undefined;
}

/** Keeps the longest of overlapping dates, merging equal ones. In text order. */
export function withoutOverlaps(found: readonly FoundTime[]): FoundTime[] {
  const kept: FoundTime[] = [];
  for (const time of found.toSorted((a, b) => b.end - b.start - (a.end - a.start))) {
    const [over, ...more] = kept.keys().filter((index) => {
      const { start, end } = kept[index] ?? time;
      return time.end > start && time.start < end;
    });
    const other = over === undefined || more.length > 0 ? undefined : kept[over];
    if (over === undefined) kept.push(time);
    else if (
      other?.start === time.start &&
      other.end === time.end &&
      other.unit === time.unit &&
      other.hasYear === time.hasYear
    )
      kept[over] = {
        ...other,
        lone: other.lone === true && time.lone === true,
        languages: [...other.languages, ...time.languages],
      };
  }
  return kept.sort((a, b) => a.start - b.start);
}

export function loneUnless(isSure: boolean, read: TimeRead | undefined): TimeRead | undefined {
  return read && (isSure ? read : { ...read, lone: true });
}

const monthsOf = { month: 1, quarter: 3, year: 12 } as const;

export function unitBeside(unit: CountedUnit | undefined, step: number, today: number): TimeRead | undefined {
  if (unit === undefined || unit === "day") return undefined;
  const { from, to } = weekAround(today + 7 * step);
  if (unit === "week") return known("week", { from, to });
  if (unit === "weekend") return known("span", { from: to - 1, to });
  const [month, count] = [monthOf(today), monthsOf[unit]];
  const first = month - ((month - 1) % count);
  return known(unit === "quarter" ? "season" : unit, monthDays(yearOf(today), first + count * step, count));
}

/** "Three weeks ago": a day, a range of days, a month or a year, with the usual precision. A count of 0 is "a few". */
export function agoDays(count: number | undefined, unit: CountedUnit | undefined, today: number): TimeRead | undefined {
  if (count === undefined || count < 0 || count > 300) return undefined;
  if (count === 0) return recentDays(6, unit, today - (unit === "day" ? 2 : 0));
  if (unit === "day") return known("day", { from: today - count, to: today - count });
  if (unit === "week") return known("week", { from: today - 7 * count - 3, to: today - 7 * count + 3 });
  return unitBeside(unit, -count, today);
}

export function sameDayAgo(
  count: number | undefined,
  unit: CountedUnit | undefined,
  today: number,
): TimeRead | undefined {
  if (count === undefined || count < 1 || count > 300) return undefined;
  if (unit === "day" || unit === "week") {
    const day = today - count * (unit === "week" ? 7 : 1);
    return known("day", { from: day, to: day });
  }
  if (unit !== "month" && unit !== "year") return undefined;
  const [year, month] = [yearOf(today), monthOf(today)];
  const [then, now] = [monthDays(year, month - count * monthsOf[unit]), monthDays(year, month)];
  if (then === undefined || now === undefined) return undefined;
  const day = Math.min(then.to, then.from + today - now.from);
  return known("day", { from: day, to: day });
}

/** "The last three weeks": up to today. A count of 0 is "a few". */
export function recentDays(
  count: number | undefined,
  unit: CountedUnit | undefined,
  today: number,
): TimeRead | undefined {
  if (count === undefined || count < 0 || count > 300) return undefined;
  const number = count === 0 ? 5 : count;
  if (unit === "day" || unit === "week")
    return known("span", { from: today - number * (unit === "week" ? 7 : 1), to: today });
  if (unit === "weekend") {
    const saturday = weekAround(today).from + 5;
    return known("span", { from: saturday - 7 * number, to: saturday - 6 });
  }
  const [year, month] = [yearOf(today), monthOf(today)];
  const from = unit && monthDays(year, month - number * monthsOf[unit])?.from;
  if (from === undefined) return undefined;
  const dayOfMonth = today - (monthDays(year, month)?.from ?? today);
  return known("span", { from: from + dayOfMonth, to: today });
}

/** The last such day before today, the next one after it, or the one of this week. */
export function weekdayBeside(weekday: number, step: number, today: number): TimeRead | undefined {
  if (weekday < 0) return undefined;
  const inWeek = weekAround(today).from + weekday;
  const past = today - (((weekdayOf(today) - weekday + 6) % 7) + 1);
  const day = step === 0 ? inWeek : step < 0 ? past : past + (inWeek === today ? 14 : 7);
  const read = known("day", { from: day, to: day });
  return read && { ...read, weekday };
}

export type Opening = "since" | "before" | "after" | "until";

/** An open range: "since March", "before 2024". */
export function openTime<Time extends TimeRead>(time: Time, opening: Opening, today: number): Time {
  return measured(time, "span", opening !== "since", ({ from, to }) => {
    if (opening === "since") return { from, to: from > today ? to : today };
    if (opening === "after") return { from: to + 1, to: Math.max(to + 1, today) };
    return { from: firstDay, to: opening === "until" ? to : from - 1 };
  });
}

export function distantTime<Time extends TimeRead>(
  time: Time,
  unit: CountedUnit,
  count: number | undefined,
  side: "before" | "after",
): Time {
  const away = (days: number, { from, to }: Days): number => (side === "before" ? from - days : to + days);
  const around = (day: number, reach: number): Days => ({ from: day - reach, to: day + reach });
  return measured(time, unit === "day" ? "day" : unit === "week" ? "week" : "span", false, (span) => {
    const number = count ?? 1;
    if (unit === "day") return around(away(number, span), 0);
    if (unit === "weekend") {
      const day = away(number, span);
      const saturday = side === "before" ? day - ((weekdayOf(day) + 2) % 7) : day + ((5 - weekdayOf(day) + 7) % 7);
      return { from: saturday, to: saturday + 1 };
    }
    const length = { week: 7, month: 30, quarter: 91, year: 365 }[unit];
    if (count !== undefined) return around(away(length * number, span), Math.floor(length / 2));
    return side === "before"
      ? { from: span.from - length, to: span.from - 1 }
      : { from: span.to + 1, to: span.to + length };
  });
}

function measured<Time extends TimeRead>(
  time: Time,
  unit: TimeUnit,
  isOpen: boolean,
  measure: (named: Days) => Days,
): Time {
  const days = (year: number): Days | undefined => {
    const named = time.days(year);
    return named && measure(named);
  };
  const named = { unit: time.unit, days: (year: number) => time.days(year) };
  return { ...time, unit, lone: false, isOpen, days, named };
}
