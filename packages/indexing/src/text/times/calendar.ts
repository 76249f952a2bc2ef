/** Days as numbers since 1970-01-01, both ends inclusive. */
export interface Days {
  from: number;
  to: number;
}

export type Season = "spring" | "summer" | "autumn" | "winter";

const dayMs = 86_400_000;

/** The first day that is counted: where a span is open to the past, it begins here. */
export const firstDay: number = Math.floor(Date.parse("1000-01-01") / dayMs);

/** The number of a day; undefined where there is no such day, such as the 31st of February. */
export function dayNumber(year: number, month: number, day: number): number | undefined {
  if (!(year >= 1000 && year <= 9999)) return undefined;
  const number = Math.floor(Date.UTC(year, month - 1, day) / dayMs);
  const real = new Date(number * dayMs);
  // A day that does not exist would be counted on into the next month.
  return real.getUTCMonth() + 1 === month && real.getUTCDate() === day ? number : undefined;
}

/** The day that it is where the caller is. */
export function localDay(now: Date): number {
  return Math.floor(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) / dayMs);
}

/** A day number as `2026-03-05`. */
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

/** The three months of a season in the north; a winter is of the year in which it begins. */
export function seasonDays(year: number, season: Season): Days | undefined {
  return monthDays(year, { spring: 3, summer: 6, autumn: 9, winter: 12 }[season], 3);
}

/** Easter Sunday of the western churches, after Gauss and Butcher. */
export function easterDay(year: number): number | undefined {
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

/** From the first day of the one to the last of the other. */
export function joined(first: Days | undefined, last: Days | undefined): Days | undefined {
  return first && last && first.from <= last.to ? { from: first.from, to: last.to } : undefined;
}
