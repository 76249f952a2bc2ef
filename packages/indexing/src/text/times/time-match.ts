import type { Days } from "./calendar.ts";
import type { TimeUnit } from "./found-time.ts";
import type { Period } from "./read-times.ts";

/** What of a period matters for how well a note fits it. */
export type MatchedPeriod = Pick<Period, "from" | "to" | "unit" | "rank" | "near" | "isOpen">;

/** How far around a period notes may be about it. */
const reachOfDays = 7;
const reachOfMonths = 14;
/** What a year that is less likely meant is worth, beside the one before it in rank. */
const laterRank = 0.9;

/** All that is before a time is worth less than what is about it: it may be anything. */
const openShare = 0.5;

/**
 * How well a note's day, or the days that it is of, fit the periods, 0 to 1: 1 inside one; up to 0.6 in the days after
 * it, since things are written down after they happen, falling to nothing within 7 days of a day or week and 14 of what
 * is longer; 0.2 in as many days before it. A note of more days than the period fits by its share, over a half. What
 * happened two weeks before a day is told in notes of that day too.
 */
export function timeMatch(noted: number | Days | undefined, periods: readonly MatchedPeriod[]): number {
  if (noted === undefined) return 0;
  const note = typeof noted === "number" ? { from: noted, to: noted } : noted;
  let best = 0;
  for (const period of periods) {
    const { near, isOpen, rank } = period;
    const inside = isOpen ? openShare * sharedPart(note, period) : fit(note, period);
    best = Math.max(best, Math.max(inside, near ? laterRank * fit(note, near) : 0) * laterRank ** rank);
  }
  return best;
}

function fit(note: Days, { from, to, unit }: Days & { unit: TimeUnit }): number {
  const part = sharedPart(note, { from, to });
  if (part > 0) return 0.5 + 0.5 * part;
  const reach = unit === "day" || unit === "week" ? reachOfDays : reachOfMonths;
  const after = note.from - to;
  if (after > 0) return after <= reach ? 0.6 * (1 - after / (reach + 1)) : 0;
  return from - note.to <= reach ? 0.2 : 0;
}

/** The part of a note's days that is in a span. */
function sharedPart(note: Days, { from, to }: Days): number {
  const shared = Math.min(note.to, to) - Math.max(note.from, from) + 1;
  return shared > 0 ? shared / (note.to - note.from + 1) : 0;
}
