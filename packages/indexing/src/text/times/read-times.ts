import zh from "../languages/zh.json" with { type: "json" };
import { remembered } from "../word-cache.ts";
import { type Days, localDay, monthDays, monthOf, yearOf } from "./calendar.ts";
import { chineseTimes } from "./chinese-times.ts";
import { combineTimes, languagesOf, startOf } from "./combine-times.ts";
import { type FoundTime, type TimeUnit, withoutOverlaps } from "./found-time.ts";
import { doubtsOf, grammars, mayNameTime, filled, foldText, namedPattern } from "./grammar.ts";
import type { Doubt, DoubtedPart } from "./language.ts";
import tables from "./patterns.json" with { type: "json" };
import { numericTimes, phraseTimes } from "./phrases.ts";

export interface Period extends Days {
  unit: TimeUnit;
  /** The words of the query that name it, and where they are in it. */
  text: string;
  start: number;
  end: number;
  /** 0 for the likeliest meaning; a day without a year has one rank per year. */
  rank: number;
  /** What it is measured from, where that is named and not the time itself: "March" in "since March". */
  near: (Days & { unit: TimeUnit }) | undefined;
  /** It is all that is on one side of what is named: "before 2024". */
  isOpen: boolean;
}

export interface QueryTimes {
  /** In the order of the query, those of the same words by rank. */
  periods: Period[];
  /** The query without date expressions and their prepositions. */
  rest: string;
  /** The query asks for nothing but a time: "yesterday", "what did I do on 12 March". */
  isOnlyTime: boolean;
  /** The words that name a day which there is not: `31 February`. */
  noDays: readonly string[];
}

export interface TimeReading {
  now: Date;
  /** The days that the workspace has notes of, in order: a year that is not named is one of theirs. */
  days?: readonly number[] | undefined;
}

const maxLength = 2000;

/** Finds days, weeks, months, seasons and years in a query, in digits and nine languages. */
export function readTimes(query: string, { now, days = [] }: TimeReading): QueryTimes {
  const folded = foldText(query.slice(0, maxLength));
  const { text, offsets } = folded;
  if (!mayNameTime(text)) return { periods: [], rest: query, isOnlyTime: false, noDays: [] };
  const context = { today: localDay(now) };
  const place = (at: number): number => offsets[at] ?? query.length;
  const written = ({ start, end }: FoundTime): string => query.slice(place(start), place(end));
  const all = [...numericTimes(text, context), ...chineseTimes(text, context), ...phraseTimes(text, context)].filter(
    (time) => !isDoubtful(time, text, written(time)),
  );
  const noDays = withoutOverlaps(all.filter(({ isNoDay }) => isNoDay === true)).map(written);
  const candidates = all.filter(({ isNoDay }) => isNoDay !== true);
  const times = combineTimes(text, withoutOverlaps(candidates), grammars, context.today);

  const found = times.filter(
    (time) => time.lone !== true || isSaidOfDay(text, time) || isNothing(textWithout(text, [time])),
  );
  const periods = found.flatMap((time): Period[] => {
    const [start, end] = [place(time.start), place(time.end)];
    const years = time.hasYear ? [0] : yearsInWorkspace(time, context.today, days);
    return years.flatMap((year, rank) => {
      const [span, named] = [time.days(year), time.named?.days(year)];
      const near = time.named && named && { ...named, unit: time.named.unit };
      const isOpen = time.isOpen === true;
      return span ? [{ ...span, unit: time.unit, text: query.slice(start, end), start, end, rank, near, isOpen }] : [];
    });
  });
  if (periods.length === 0) return { periods, rest: query, isOnlyTime: false, noDays };
  const served = found.map((time) => withServing(text, time));
  const rest = textWithout(
    query,
    served.map(({ start, end }) => ({ start: place(start), end: place(end) })),
  );
  return { periods, rest, isOnlyTime: isNothing(rest), noDays };
}

/** "What did I eat Tuesday", "Monday's meeting": a day of the week needs no "on" there. */
function isSaidOfDay(text: string, { weekday, languages, end }: FoundTime): boolean {
  return weekday !== undefined && languages.includes("english") && !/^(?!'s)[^]*[\p{L}\p{N}]/u.test(text.slice(end));
}

function withServing(text: string, time: FoundTime): { start: number; end: number } {
  const starts = languagesOf(time, grammars).map(
    (each) => startOf(text, time.start, each.pattern("serving")) ?? time.start,
  );
  const end = time.end + (/^(?:'s(?![a-z])|(?<=[\u4e00-\u9fff])的)/.exec(text.slice(time.end))?.[0].length ?? 0);
  return { start: Math.min(time.start, ...starts), end };
}

function textWithout(text: string, places: readonly { start: number; end: number }[]): string {
  let rest = "";
  let at = 0;
  for (const { start, end } of places.toSorted((a, b) => a.start - b.start)) {
    rest += text.slice(at, Math.max(at, start));
    if (rest !== "" && !/\s$/.test(rest)) rest += " ";
    at = Math.max(at, end);
  }
  return (rest + text.slice(at)).replaceAll(/\s+/g, " ").trim();
}

/** What a Chinese question holds that asks for nothing but a time. */
const chineseFillers = namedPattern(zh.chineseDates.fillers, "g");

function isNothing(rest: string): boolean {
  const text = foldText(rest)
    .text.replaceAll(chineseFillers, " ")
    .replaceAll(/(?<=\s|^)so far(?=\W|$)/g, " ")
    .replaceAll(/[^\p{L}\p{N}'-]+/gu, " ")
    .trim();
  if (text === "") return true;
  const words = text.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word));
  // One language for all of it: German "war" is not English.
  return grammars.some((grammar) => {
    if (grammar.name === "german" && words.every((word) => word === "war" || word === "so")) return false;
    return words.every((word) => grammar.pattern("filler").test(word));
  });
}

const daysBefore = 3;
const daysAfter = 7;

/** Candidate years of a date without one: years with such a note first, latest first. */
function yearsInWorkspace(time: FoundTime, today: number, noteDays: readonly number[]): number[] {
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
    if (noted.length > 0) return time.named ? noted.slice(0, 1) : noted;
  }
  return years.slice(0, 1);
}

/** Years in which the date has begun, latest first; at least the latest. */
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

const { measured, numbered } = tables.doubts;
const regExp = remembered((pattern) => namedPattern(filled(pattern)));

/** Whether a date-like text is probably something else: "version 10.01.2024", "may 5 users", German "hier". */
function isDoubtful(time: FoundTime, text: string, written: string): boolean {
  const words = text.slice(time.start, time.end);
  const before = text.slice(Math.max(0, time.start - 40), time.start);
  const after = text.slice(time.end, time.end + 40);
  const [language] = time.languages;
  if (language === undefined)
    return regExp(numbered).test(before) || (/^\d{4}$/.test(words) && regExp(measured).test(after));
  const parts = { words, before, after, text, written };
  const isDoubt = ({ weekday, ...patterns }: Doubt): boolean =>
    (weekday !== true || time.weekday !== undefined) &&
    Object.entries(patterns).every(([part, pattern]) => regExp(pattern).test(parts[part as DoubtedPart]));
  return doubtsOf(language).some(isDoubt);
}
