import type { Days } from "./calendar.ts";
import type { TimeUnit } from "./found-time.ts";
import type { Period } from "./read-times.ts";

export type MatchedPeriod = Pick<Period, "from" | "to" | "unit" | "rank" | "near" | "isOpen" | "text">;

const reachOfDays = 7;
const reachOfMonths = 14;
/** What a year that is less likely meant is worth, beside the one before it in rank. */
const laterRank = 0.9;

const openShare = 0.5;

const dayWeight = 1.2;
const periodWeight = 0.8;
const nearWeight = 0.4;
const ofTheTime = 0.85;

export interface TimeMatch {
  /** Fit, 0 to 1: 1 inside a period, up to 0.6 in the days after it, 0.2 before it. */
  match: number;
  /** The same, times 1.2 for a day, 0.8 for a longer time, 0.4 for a year or an approximate match. */
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

function sharedPart(note: Days, { from, to }: Days): number {
  const shared = Math.min(note.to, to) - Math.max(note.from, from) + 1;
  return shared > 0 ? shared / (note.to - note.from + 1) : 0;
}
