import type { QueryTerm } from "../chunk-store.ts";
import { isoDate } from "../text/times/calendar.ts";
import type { MatchedPeriod } from "../text/times/time-match.ts";

/** A span that has more days is asked for by its months, one that has more months by its years. */
const maxDays = 45;
const maxMonths = 30;
const maxTerms = 64;

/**
 * What stands with every chunk of a note of such a time: `2026-03-05` with those of a day, `2026-03` with those of a month.
 * The likeliest times first. A span without an end that is longer than a year or two is everything, and asks for nothing.
 */
export function timeTerms(periods: readonly MatchedPeriod[]): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const take = (term: string, prefix: boolean): void => void terms.set(term, { term, prefix });
  for (const period of periods.toSorted((a, b) => a.rank - b.rank)) {
    if (period.isOpen && period.to - period.from > 366 * 2) continue;
    if (period.to - period.from < maxDays) {
      for (let day = period.from; day <= period.to; day++) take(isoDate(day), false);
      for (const month of new Set([isoDate(period.from).slice(0, 7), isoDate(period.to).slice(0, 7)]))
        take(month, false);
    } else for (const part of partsOf(period)) take(part, true);
  }
  return [...terms.values()].slice(0, maxTerms);
}

/** Months as `2026-03`, or years as `2026-`: the beginnings of their days. */
function partsOf({ from, to }: MatchedPeriod): string[] {
  const months = new Set<string>();
  for (let day = from; day <= to; day += 28) months.add(isoDate(day).slice(0, 7));
  months.add(isoDate(to).slice(0, 7));
  return months.size <= maxMonths ? [...months] : [...new Set([...months].map((month) => month.slice(0, 5)))];
}
