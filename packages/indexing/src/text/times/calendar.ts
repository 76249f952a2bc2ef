import table from "./holidays.json" with { type: "json" };

export interface Days {
  from: number;
  to: number;
}

export type Part = "early" | "middle" | "late";

export type Season = "spring" | "summer" | "autumn" | "winter";

const dayMs = 86_400_000;

export const firstDay: number = Math.floor(Date.parse("1000-01-01") / dayMs);

/** The number of a day; undefined if there is no such day, such as the 31st of February. */
export function dayNumber(year: number, month: number, day: number): number | undefined {
  if (!(year >= 1000 && year <= 9999)) return undefined;
  const number = Math.floor(Date.UTC(year, month - 1, day) / dayMs);
  const real = new Date(number * dayMs);
  // Nonexistent days would roll over into the next month.
  return real.getUTCMonth() + 1 === month && real.getUTCDate() === day ? number : undefined;
}

export function localDay(now: Date): number {
  return Math.floor(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) / dayMs);
}

export function isoDate(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

export function yearOf(day: number): number {
  return new Date(day * dayMs).getUTCFullYear();
}

export function monthOf(day: number): number {
  return new Date(day * dayMs).getUTCMonth() + 1;
}

/** 0 is Monday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

export function oneDay(year: number, month: number, day: number): Days | undefined {
  const number = dayNumber(year, month, day);
  return number === undefined ? undefined : { from: number, to: number };
}

/** Months count on over the ends of a year: month 0 is the December before, month 13 the January after. */
export function monthDays(year: number, month: number, months = 1): Days | undefined {
  const [first, next] = [monthStart(year, month), monthStart(year, month + months)];
  return first === undefined || next === undefined ? undefined : { from: first, to: next - 1 };
}

export function yearDays(year: number, years = 1): Days | undefined {
  return monthDays(year, 1, 12 * years);
}

/** From Monday to Sunday, as ISO 8601 counts weeks: the first is the one that holds the 4th of January. */
export function weekDays(year: number, week: number): Days | undefined {
  const fourth = dayNumber(year, 1, 4);
  if (fourth === undefined || week < 1 || week > 53) return undefined;
  const from = fourth - weekdayOf(fourth) + 7 * (week - 1);
  return yearOf(from + 3) === year ? { from, to: from + 6 } : undefined;
}

export function weekAround(day: number): Days {
  const from = day - weekdayOf(day);
  return { from, to: from + 6 };
}

export function quarterDays(year: number, quarter: number): Days | undefined {
  return quarter < 1 || quarter > 4 ? undefined : monthDays(year, 3 * quarter - 2, 3);
}

export function seasonDays(year: number, season: Season): Days | undefined {
  return monthDays(year, { spring: 3, summer: 6, autumn: 9, winter: 12 }[season], 3);
}

function easterDay(year: number): number | undefined {
  const [century, rest] = [Math.floor(year / 100), year % 100];
  const golden = year % 19;
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(rest / 4) - epact - (rest % 4)) % 7;
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const sum = epact + weekday - 7 * late + 114;
  return dayNumber(year, Math.floor(sum / 31), (sum % 31) + 1);
}

function monthStart(year: number, month: number): number | undefined {
  return dayNumber(year + Math.floor((month - 1) / 12), ((((month - 1) % 12) + 12) % 12) + 1, 1);
}

export function joined(first: Days | undefined, last: Days | undefined): Days | undefined {
  return first && last && first.from <= last.to ? { from: first.from, to: last.to } : undefined;
}

/** Month, first day and number of days by holiday. Lunar ones other than Easter are excluded. */
const holidays: Readonly<Record<string, readonly number[]>> = table;

export function holidayDays(holiday: string, year: number): Days | undefined {
  const [month, day, count] = holidays[holiday] ?? [];
  if (month !== undefined && day !== undefined) return spanFrom(dayNumber(year, month, day), count);
  if (holiday === "easter") return spanFrom(easterDay(year), 4, -2);
  const first = dayNumber(year, 11, 1);
  // The fourth Thursday of November.
  return first === undefined ? undefined : spanFrom(first + ((3 - weekdayOf(first) + 7) % 7) + 21, 1);
}

export function isOneDay(holiday: string): boolean {
  return holiday === "thanksgiving" || holidays[holiday]?.[2] === 1;
}

function spanFrom(day: number | undefined, count = 1, shift = 0): Days | undefined {
  return day === undefined ? undefined : { from: day + shift, to: day + shift + count - 1 };
}

export function nthWithin(
  span: Days | undefined,
  number: number,
  unit: "week" | "weekend" | "half" | "day",
): Days | undefined {
  if (!span) return undefined;
  const { from, to } = span;
  if (unit === "half") {
    const middle = from + Math.floor((to - from + 1) / 2);
    return number === 1 ? { from, to: middle - 1 } : { from: middle, to };
  }
  const length = { week: 7, weekend: 2, day: 1 }[unit];
  const firstSaturday = from + ((((5 - ((from + 3) % 7)) % 7) + 7) % 7);
  const lastSaturday = firstSaturday + 7 * Math.floor((to - firstSaturday) / 7);
  const start =
    unit === "weekend"
      ? number === 0
        ? lastSaturday
        : firstSaturday + 7 * (number - 1)
      : number === 0
        ? to - length + 1
        : from + length * (number - 1);
  return start > to
    ? undefined
    : { from: start, to: Math.min(start + length - 1, unit === "weekend" ? start + 1 : to) };
}

const seasonEndDays = 21;

export function thirdOf(span: Days | undefined, part: Part): Days | undefined {
  if (!span) return undefined;
  const { from, to } = span;
  const length = to - from + 1;
  if (length >= 89 && length <= 92 && part !== "middle")
    return part === "early" ? { from, to: from + seasonEndDays - 1 } : { from: to - seasonEndDays + 1, to };
  const third = Math.floor(length / 3);
  const [first, second] = [from + third, from + 2 * third].map((day) => (third < 28 ? day : nearestMonth(day)));
  if (first === undefined || second === undefined) return span;
  if (part === "early") return { from, to: first - 1 };
  return part === "middle" ? { from: first, to: second - 1 } : { from: second, to };
}

function nearestMonth(day: number): number {
  const month = monthDays(yearOf(day), monthOf(day));
  if (!month) return day;
  return day - month.from <= month.to + 1 - day ? month.from : month.to + 1;
}
