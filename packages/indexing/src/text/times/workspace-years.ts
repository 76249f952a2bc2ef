import { type Days, monthDays, monthOf, yearOf } from "./calendar.ts";
import type { FoundTime } from "./found-time.ts";

/** Things are written down about when they happen, rather after it. */
const daysBefore = 3;
const daysAfter = 7;

/**
 * The years of a time that names none, the best first: each up to now in which the workspace has a note of
 * then, the latest first; if none has, one of about then, or of that month. What no note is about is the latest up to now.
 */
export function yearsInWorkspace(time: FoundTime, today: number, noteDays: readonly number[]): number[] {
  const named = (time.named ?? time).days;
  const years = upToNow(named, today, Math.min(yearOf(today), yearOf(noteDays[0] ?? today)));
  const spanOf = (year: number): Days => named(year) ?? { from: 0, to: -1 };
  const wider: ((span: Days) => Days)[] = [
    (span) => span,
    ({ from, to }) => ({ from: from - daysBefore, to: to + daysAfter }),
    ({ from, to }) => ({
      from: monthDays(yearOf(from), monthOf(from))?.from ?? from,
      to: monthDays(yearOf(to), monthOf(to))?.to ?? to,
    }),
  ];
  for (const widen of wider) {
    const noted = years.filter((year) => holdsAny(noteDays, widen(spanOf(year))));
    // What is on one side of a time is not said of several years.
    if (noted.length > 0) return time.named ? noted.slice(0, 1) : noted;
  }
  return years.slice(0, 1);
}

/** The years in which there was such a time and it had begun, the latest first; at least the latest. */
function upToNow(named: FoundTime["days"], today: number, oldest: number): number[] {
  const years: number[] = [];
  // A leap day may be eight years away.
  for (let year = yearOf(today) + 1; year >= oldest - 1 || (years.length === 0 && year > oldest - 9); year--) {
    const span = named(year);
    if (span && span.from <= today) years.push(year);
  }
  return years;
}

function holdsAny(sorted: readonly number[], { from, to }: Days): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  const next = sorted[low];
  return next !== undefined && next <= to;
}
