import type { ChunkRow } from "../chunk-index.ts";
import { namesIn } from "../text/note-context.ts";
import type { Days } from "../text/times/calendar.ts";
import { type MatchedPeriod, type TimeMatch, timeMatch } from "../text/times/time-match.ts";
import { timeOfPath } from "../text/times/time-of-path.ts";
import { daysOfChunk, linesWithin } from "./query/chunk-days.ts";

/** What is worth what holds the words of a time, where the time alone is asked for. */
const otherShare = 0.4;
/** What a day in a heading is worth, beside the day of a whole note: what is of that day comes before what mentions it. */
const headingDayShare = 0.9;
/** The score of a note of the very time: no score is 1. */
const topOfTime = 0.95;

/** What a candidate has to have to be weighed by the times of a query. */
export interface TimedCandidate {
  row: ChunkRow;
  /** BM25 and what is added to it; 0 where the keyword leg did not find the chunk. */
  keywordWeight: number;
  /** What the keyword weight is made of. */
  shares: KeywordShares;
  /** How well it is of a time that the query names, 0 to 1, and the first day that it is of. */
  timeMatch: number;
  day: number | undefined;
  score: number;
}

/** The addends of a keyword weight. */
interface KeywordShares {
  words: number;
  names: number;
  dates: number;
}

/** Adds to the keyword weight of each candidate what its days are worth, at most `top`. */
export function weighTimes(
  candidates: readonly TimedCandidate[],
  periods: readonly MatchedPeriod[],
  top: number,
): void {
  for (const candidate of candidates) {
    const { match, weight, day } = bestTime(candidate.row, periods);
    candidate.day = day;
    candidate.timeMatch = match;
    candidate.shares.dates = weight * top;
    candidate.keywordWeight += candidate.shares.dates;
  }
}

/** The score where nothing but a time is asked for: its notes are the answer, whatever their words. */
export function scoreOfTime({ timeMatch, score }: TimedCandidate): number {
  return timeMatch === 0 ? otherShare * score : topOfTime * timeMatch;
}

/** The days that a chunk is of: by the name of its note, or as its note says. */
function timeOf({ path, context }: ChunkRow): Days | undefined {
  const [day] = namesIn(context).titles;
  return timeOfPath(path) ?? (day === undefined ? undefined : timeOfPath(day));
}

/** How well the days of a chunk fit; where its note has none, the best of those in the headings above it and in it. */
function bestTime(row: ChunkRow, periods: readonly MatchedPeriod[]): TimeMatch & { day: number | undefined } {
  const own = timeOf(row);
  const share = own === undefined ? headingDayShare : 1;
  const matches = (own === undefined ? daysOfChunk(row) : [own]).map((days) => {
    const { match, weight } = timeMatch(days, periods);
    return { match: share * match, weight: share * weight, day: days.from };
  });
  return matches.reduce((best, match) => (match.weight > best.weight ? match : best), matches[0] ?? noTime);
}

const noTime = { match: 0, weight: 0, day: undefined };

/** Of a chunk of several days, by its headings, the lines of those that are asked for; where none are, all of it. */
export function linesOfTime(row: ChunkRow, periods: readonly MatchedPeriod[]): ChunkRow {
  if (timeOf(row) !== undefined) return row;
  const isAsked = (days: Days): boolean => periods.some(({ from, to }) => days.from <= to && from <= days.to);
  return linesWithin(row, isAsked) ?? row;
}

/** In the order of their days where they fit as well; within a note from its beginning. 0 where no day decides. */
export function byTime(a: TimedCandidate, b: TimedCandidate): number {
  if (a.score !== b.score || a.day === undefined || b.day === undefined) return 0;
  return a.day - b.day || byPlace(a, b);
}

export function byPlace({ row: a }: TimedCandidate, { row: b }: TimedCandidate): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : a.startLine - b.startLine;
}
