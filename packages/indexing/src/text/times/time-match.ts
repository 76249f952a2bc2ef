import type { Days } from "./calendar.ts";
import type { Period } from "./read-times.ts";

/** What of a period matters for how well a note fits it. */
export type MatchedPeriod = Pick<Period, "from" | "to" | "unit" | "rank">;

/** How far around a period notes may be about it. */
const reachOfDays = 7;
const reachOfMonths = 14;
/** What a year that is less likely meant is worth, beside the one before it in rank. */
const laterRank = 0.9;

/**
 * How well a note's day, or the days that it is of, fit the periods, 0 to 1: 1 inside one; up to 0.6 in the days after
 * it, since things are written down after they happen, falling to nothing within 7 days of a day or week and 14 of what
 * is longer; 0.2 in as many days before it. A note of more days than the period fits by its share, over a half.
 */
export function timeMatch(noted: number | Days | undefined, periods: readonly MatchedPeriod[]): number {
  if (noted === undefined) return 0;
  const note = typeof noted === "number" ? { from: noted, to: noted } : noted;
  let best = 0;
  for (const period of periods) best = Math.max(best, fit(note, period) * laterRank ** period.rank);
  return best;
}

function fit(note: Days, { from, to, unit }: MatchedPeriod): number {
  const shared = Math.min(note.to, to) - Math.max(note.from, from) + 1;
  if (shared > 0) return 0.5 + (0.5 * shared) / (note.to - note.from + 1);
  const reach = unit === "day" || unit === "week" ? reachOfDays : reachOfMonths;
  const after = note.from - to;
  if (after > 0) return after <= reach ? 0.6 * (1 - after / (reach + 1)) : 0;
  return from - note.to <= reach ? 0.2 : 0;
}
