import type { ChunkRow } from "../index-row-types.ts";
import { headingOf } from "../text/note-head.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { namesIn } from "../text/note-context.ts";
import type { Days } from "../text/times/calendar.ts";
import { daysInText, type MatchedPeriod, type TimeMatch, timeMatch, timeOfPath } from "../text/times/note-days.ts";
import { readTimes } from "../text/times/read-times.ts";
import { remembered } from "../text/word-cache.ts";
import { queryTerms } from "../text/query-terms.ts";
import type { TextMatches, WeightedTerm } from "../text/bm25.ts";
import { linesWithin } from "./query/chunk-filter.ts";

const otherShare = 0.4;
/** The score of a note of the requested days: no score is 1. */
const topOfTime = 0.95;
/** Weight of a date by its position, relative to the file name: creation date, heading, first lines, other line. */
const writtenShare = 0.7;
const headingDayShare = 0.9;
const firstLinesShare = 0.8;
const lineShare = 0.6;
const firstLines = 4;
/** A year in a title says nothing of a time within it. */
const longest = 360;
const wordlessShare = 0.2;

/** A candidate as far as dates weigh it. */
export interface TimedCandidate {
  row: ChunkRow;
  lines: readonly string[];
  matches: TextMatches;
  scan: TermScanner;
  keywordWeight: number;
  shares: Record<"words" | "names" | "dates", number>;
  timeMatch: number;
  days: Days | undefined;
  /** Its name or a heading is of exactly the days that the query names. */
  isNamed: boolean;
  /** The weight of the other words of the query that it holds. */
  held: number;
  score: number;
}

/** Adds the date weight to each candidate, at most `top`; less without other words of the query. */
export function weighTimes(
  candidates: readonly TimedCandidate[],
  periods: readonly MatchedPeriod[],
  terms: readonly WeightedTerm[],
  top: number,
): void {
  const ofTime = new Set(periods.flatMap(({ text }) => queryTerms(text).map(({ term }) => term)));
  const rest = terms.map(({ term, idf }) => (ofTime.has(term) ? 0 : idf));
  for (const candidate of candidates)
    candidate.held = candidate.matches.counts.keys().reduce((held, index) => held + (rest[index] ?? 0), 0);
  const most = candidates.reduce((held, candidate) => Math.max(held, candidate.held), 0);
  const all = rest.reduce((sum, weight) => sum + weight, 0);
  const isOfDay = periods.some(({ unit }) => unit === "day");
  for (const candidate of candidates) {
    const { match, weight, days, isNamed } = bestTime(candidate, periods);
    candidate.isNamed = isNamed;
    // A daily note may tell the event in other words.
    const share = isOfDay || all === 0 ? 1 : 1 - (1 - wordlessShare) * ((most - candidate.held) / all);
    candidate.days = days;
    candidate.timeMatch = match;
    candidate.shares.dates = weight * share * top;
    candidate.keywordWeight += candidate.shares.dates;
  }
}

export function scoreOfTime({ timeMatch, score }: TimedCandidate): number {
  return timeMatch === 0 ? otherShare * score : topOfTime * timeMatch;
}

/** The days that a chunk is of and their weights: by its name, its headings and, for a day of the query, its lines. */
function daysNamed({ row, lines }: TimedCandidate, periods: readonly MatchedPeriod[]): (readonly [Days, number])[] {
  const { titles, isWrittenDay } = namesIn(row.context);
  const own = timeOfPath(row.path);
  const stem = /([^/]*?)(?:\.[^./]*)?$/u.exec(row.path)?.[1] ?? "";
  const isDated = own !== undefined || timeOfPath(titles[0] ?? "") !== undefined;
  const headings = lines.flatMap((line) => (line.startsWith("#") ? (headingOf(line) ?? []) : []));
  const names: (readonly [string, number])[] = [
    [stem.replaceAll(/(?<=\p{L})[-_]|[-_](?=\p{L})/gu, " "), 1],
    ...titles.map(
      (title, at) =>
        [title, at === 0 && isWrittenDay === true ? writtenShare : at > Number(isDated) ? headingDayShare : 1] as const,
    ),
    ...headings.map(({ title, level }) => [title, level === 1 ? 1 : headingDayShare] as const),
  ];
  const isSaid = (days: Days): boolean =>
    days.to - days.from < longest || periods.some(({ from, to }) => from <= days.from && days.to <= to);
  const named = names.flatMap(([name, share]) =>
    daysOfName(name)
      .filter(isSaid)
      .map((days) => [days, share] as const),
  );
  if (own) named.push([own, 1]);
  const asked = periods
    .filter(({ unit, isOpen }) => unit === "day" && !isOpen)
    .flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
  if (asked.length === 0) return named;
  const head = row.startLine === 1 ? lines.slice(0, firstLines).join("\n").length : 0;
  return [
    ...named,
    ...daysInText(row.text, asked).map((days) => [days, days.index < head ? firstLinesShare : lineShare] as const),
  ];
}

/** The days, weeks, months and years that a name says with a year. */
const daysOfName = remembered((name): Days[] => {
  if (!/(?:19|20)\d\d/u.test(name)) return [];
  const noted = timeOfPath(name);
  const { periods } = readTimes(noted ? "" : name, { now: new Date() });
  const spans = periods.filter(({ unit, isOpen, text }) => unit !== "day" && !isOpen && /\d{4}/u.test(text));
  return noted ? [noted] : [...daysInText(name), ...spans];
});

const noTime = { match: 0, weight: 0, days: undefined };

/** How well the days of a chunk fit: those that fit best. */
function bestTime(
  candidate: TimedCandidate,
  periods: readonly MatchedPeriod[],
): Pick<TimedCandidate, "days" | "isNamed"> & TimeMatch {
  const named = daysNamed(candidate, periods);
  const [best = noTime] = named
    .map(([days, share]) => {
      const { match, weight } = timeMatch(days, periods);
      return { match: share * match, weight: share * weight, days };
    })
    .toSorted((a, b) => b.weight - a.weight);
  // The notes of a day or a week are a list of days.
  const isNamed = named.some(([days]) =>
    periods.some(({ from, to }) => to - from > 7 && from === days.from && to === days.to),
  );
  return { ...best, isNamed };
}

export function linesOfTime(row: ChunkRow, periods: readonly MatchedPeriod[]): ChunkRow {
  return linesWithin(row, (days) => periods.some(({ from, to }) => days.from <= to && from <= days.to)) ?? row;
}

/** Tie-break: first named by these days, then more words of the query, then by date. 0 if no date decides. */
export function byTime(a: TimedCandidate, b: TimedCandidate): number {
  if (a.score !== b.score || a.days === undefined || b.days === undefined) return 0;
  return Number(b.isNamed) - Number(a.isNamed) || b.held - a.held || a.days.from - b.days.from || byPlace(a, b);
}

export function byPlace({ row: a }: TimedCandidate, { row: b }: TimedCandidate): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : a.startLine - b.startLine;
}
