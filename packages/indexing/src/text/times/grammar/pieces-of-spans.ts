import { type Days, monthDays, monthOf, yearOf } from "../calendar.ts";
import type { Part } from "./language.ts";

/** The nth piece of a span, or the last one for 0. Weeks of a month or year begin with its first day. */
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

/** The beginning and the end of a season. */
const seasonEndDays = 21;

/** The first ten days of a month, the last three weeks of a summer, the middle four months of a year. */
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

/** The first day of the month that begins nearest. */
function nearestMonth(day: number): number {
  const month = monthDays(yearOf(day), monthOf(day));
  if (!month) return day;
  return day - month.from <= month.to + 1 - day ? month.from : month.to + 1;
}
