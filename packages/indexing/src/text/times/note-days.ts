import { chineseNumber, type Groups, groupsOf, patternsOf, monthWords, foldText, indexOf } from "./grammar.ts";
import {
  type Days,
  monthDays,
  oneDay,
  quarterDays,
  weekDays,
  yearDays,
  dayNumber,
  isoDate,
  yearOf,
} from "./calendar.ts";
import { remembered } from "../word-cache.ts";
import type { TimeUnit } from "./found-time.ts";
import type { Period } from "./read-times.ts";
import { lazily } from "@memslot/core/host";

/** Goes up when names or the dates of front matter are read otherwise: notes are indexed with the day in theirs. */
export const pathTimesVersion = 2;

export interface NotedTime extends Days {
  unit: Extract<TimeUnit, "day" | "week" | "month" | "season" | "year">;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const readers: Partial<Record<string, (parts: Groups) => NotedTime | undefined>> = {
  day: (parts) => noted("day", oneDay(Number(parts["y"]), monthNumber(parts), chineseNumber(parts["d"]) ?? 0)),
  month(parts) {
    const month = monthNumber(parts);
    return month >= 1 && month <= 12 ? noted("month", monthDays(Number(parts["y"]), month)) : undefined;
  },
  week: ({ y, w }) => noted("week", weekDays(Number(y), Number(w))),
  quarter: ({ y, w }) => noted("season", quarterDays(Number(y), Number(w))),
  year: ({ y }) => noted("year", yearDays(Number(y))),
};
/** The first that matches tells. Slashes are part of some: `2026/03/05.md`. */
const names = patternsOf("names", "iu");

/** The day, week, month, quarter or year in the name of a note, such as `memory/2026-03-05-trip.md`. */
export const timeOfPath: (path: string) => NotedTime | undefined = remembered((path) => {
  // Each has a year of four figures, and most notes have none in their names.
  for (const [name, kind] of /\d{4}/u.test(path) ? names : []) {
    const parts = groupsOf(name.exec(path));
    const time = parts && readers[kind]?.(parts);
    if (time) return time;
  }
  return undefined;
});

function monthNumber({ m, name }: Groups): number {
  return name === undefined ? (chineseNumber(m) ?? 0) : months.indexOf(name.toLowerCase().slice(0, 3)) + 1;
}

function noted(unit: NotedTime["unit"], days: Days | undefined): NotedTime | undefined {
  return days && { ...days, unit };
}

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

const reachBefore = 32;
const reachAfter = 12;
const years = /(?<!\d)((?:19|20)\d\d)(?!\d)(?:-(\d\d)-(\d\d)(?!\d))?/gu;
const formsBefore = lazily(() => patternsOf("beforeYear", "", { months: monthWords }));
const afterYear = /^(?![-/.:]?\d)/;
const beforeYear = /(?<!\d[.,:/-]?)$/;
const figures = /^(?<s>[-/._])(?<m>\d\d?)\k<s>(?<d>\d\d?)(?!\d|[-/.:]\d)/;
const chinese = /^ ?年 ?(?<m>\d\d?) ?月 ?(?<d>\d\d?) ?[日号]/;

/** Days named with their year. Ambiguous ones (`05/09/2023`) are skipped. `asked`: only these days. */
export function daysInText(text: string, asked?: readonly number[]): (Days & { index: number })[] {
  const days = new Map<number, number>();
  const wanted = asked?.map((each) => ({
    each,
    y: String(yearOf(each)),
    date: String(Number(isoDate(each).slice(-2))),
  }));
  for (const { index, 1: y = "", 2: m, 3: d } of text.matchAll(years)) {
    if (days.size === wanted?.length) break;
    const ofYear = wanted?.filter((of) => of.y === y);
    if (ofYear?.length === 0) continue;
    const take = (found: number | undefined): void => {
      if (found !== undefined && !days.has(found) && ofYear?.some(({ each }) => each === found) !== false)
        days.set(found, index);
    };
    if (m !== undefined) {
      take(dayOf(y, { m, d }));
      continue;
    }
    const before = folded(text.slice(Math.max(0, index - reachBefore), index));
    const after = folded(text.slice(index + 4, index + 4 + reachAfter));
    if (ofYear?.some(({ date }) => before.includes(date) || after.includes(date)) === false) continue;
    const takeMatch = (match: RegExpExecArray | null): void => {
      if (match?.groups) take(dayOf(y, match.groups));
    };
    if (beforeYear.test(before)) takeMatch(figures.exec(after));
    if (afterYear.test(after)) for (const [form] of formsBefore()) takeMatch(form.exec(before));
    takeMatch(chinese.exec(after));
  }
  return [...days].map(([each, index]) => ({ from: each, to: each, index }));
}

function folded(written: string): string {
  return /^[\0-}]*$/.test(written) ? written.toLowerCase() : foldText(written).text;
}

function dayOf(y: string, { m, d, a, b, s, name }: Groups): number | undefined {
  const of = (month: number, date: number): number | undefined => dayNumber(Number(y), month, date);
  if (name !== undefined) return of(monthOf(name), Number(d));
  if (a === undefined) return of(Number(m), Number(d));
  const [dayFirst, monthFirst] = [of(Number(b), Number(a)), of(Number(a), Number(b))];
  if (dayFirst === undefined || dayFirst === monthFirst || s === ".") return dayFirst ?? monthFirst;
  return monthFirst === undefined ? dayFirst : undefined;
}

const monthOf = remembered((name) => indexOf(monthWords, name) + 1);
