import type { Days } from "./calendar.ts";
import type { TimeUnit } from "./found-time.ts";
import type { Period } from "./read-times.ts";

/** What of a period matters for how well a note fits it. */
export type MatchedPeriod = Pick<Period, "from" | "to" | "unit" | "rank" | "near" | "isOpen" | "text">;

/** How far around a period notes may be about it. */
const reachOfDays = 7;
const reachOfMonths = 14;
/** What a year that is less likely meant is worth, beside the one before it in rank. */
const laterRank = 0.9;

/** All that is before a time is worth less than what is about it: it may be anything. */
const openShare = 0.5;

/** What a note of the very day that is asked for is worth. */
const dayWeight = 1.2;
/** What a note within a longer time is worth. */
const periodWeight = 0.8;
/** What a note is worth that is only about then, or of the year, as many notes are. */
const nearWeight = 0.4;
/** A note that fits so well is of the time, and not only about then. */
const ofTheTime = 0.85;

/** How a note's day, or the days that it is of, fit the periods of a query. */
export interface TimeMatch {
  /**
   * How well they fit, 0 to 1: 1 inside a period; up to 0.6 in the days after it, since things are written down after
   * they happen, falling to nothing within 7 days of a day or week and 14 of what is longer; 0.2 in as many days before
   * it. A note of more days than the period fits by its share, over a half. What happened two weeks before a day is in
   * notes of that day too.
   */
  match: number;
  /**
   * The same, times 1.2 for what is of a day, 0.8 for what is of a longer time, and 0.4 for what is about then or of a
   * year.
   */
  weight: number;
}

export function timeMatch(noted: number | Days | undefined, periods: readonly MatchedPeriod[]): TimeMatch {
  const best = { match: 0, weight: 0 };
  if (noted === undefined) return best;
  const note = typeof noted === "number" ? { from: noted, to: noted } : noted;
  for (const period of periods) {
    const { near, isOpen, rank, unit } = period;
    const inside = isOpen ? openShare * sharedPart(note, period) : fit(note, period);
    const match = Math.max(inside, near ? laterRank * fit(note, near) : 0) * laterRank ** rank;
    const weight = inside < ofTheTime ? nearWeight : weightOf(unit);
    best.match = Math.max(best.match, match);
    best.weight = Math.max(best.weight, weight * match);
  }
  return best;
}

function weightOf(unit: TimeUnit): number {
  if (unit === "day") return dayWeight;
  return unit === "year" ? nearWeight : periodWeight;
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
