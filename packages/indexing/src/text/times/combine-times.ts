import { type Days, nthWithin, type Part, thirdOf, yearOf } from "./calendar.ts";
import { distantTime, type FoundTime, type Opening, openTime, withoutOverlaps } from "./found-time.ts";
import { type CountedUnit, countedUnits, type Language } from "./language.ts";
import { edge, type Groups, groupsOf, indexOf, namedPattern, noLetterBefore, oneOf } from "./patterns.ts";

/** Makes one time of several ("summer" and "last year"), and of one with the words before it ("since", "end of"). */
export function combineTimes(
  text: string,
  found: readonly FoundTime[],
  languages: readonly WordsAround[],
  today: number,
): FoundTime[] {
  const first = <Time>(time: FoundTime, read: (language: WordsAround) => Time | undefined): Time | undefined => {
    for (const language of languagesOf(time, languages)) {
      const result = read(language);
      if (result !== undefined) return result;
    }
    return undefined;
  };
  let times = joinNeighbours(found, (a, b) =>
    first(a.languages.length === 0 ? b : a, (language) => beside(text, a, b, language)),
  );
  times = times.map((time) => first(time, (language) => countedWithin(text, time, language)) ?? time);
  times = times.map((time) => first(time, (language) => partOf(text, time, language)) ?? time);
  // The "last week" of "last week of June" is none of its own.
  times = withoutOverlaps(times);
  times = joinNeighbours(times, (a, b) =>
    first(a.languages.length === 0 ? b : a, (language) => range(text, a, b, language)),
  );
  // Nor is the "last week" of "last week before Christmas".
  return withoutOverlaps(times.map((time) => first(time, (language) => openSpan(text, time, language, today)) ?? time));
}

/** The languages whose words may stand around a time. */
export function languagesOf(time: FoundTime, all: readonly WordsAround[]): readonly WordsAround[] {
  return time.languages.length === 0 ? all : all.filter(({ name }) => time.languages.includes(name));
}

function joinNeighbours(
  times: readonly FoundTime[],
  join: (a: FoundTime, b: FoundTime) => FoundTime | undefined,
): FoundTime[] {
  const joined: FoundTime[] = [];
  for (const time of times) {
    const before = joined.at(-1);
    const one = before && join(before, time);
    if (one) joined.splice(-1, 1, one);
    else joined.push(time);
  }
  return joined;
}

/** "March" and "last year", "Friday" and "last week", in either order. */
function beside(text: string, a: FoundTime, b: FoundTime, language: WordsAround): FoundTime | undefined {
  if (!language.joins.test(text.slice(a.end, b.start))) return undefined;
  for (const [inner, outer] of [
    [a, b],
    [b, a],
  ] as const) {
    const whole = { start: a.start, end: b.end, languages: [language.name], hasYear: true };
    const span = outer.hasYear ? outer.days(0) : undefined;
    if (!span) continue;
    if (!inner.hasYear && outer.unit === "year")
      return { ...whole, unit: inner.unit, days: () => inner.days(yearOf(span.from)) };
    const { weekday } = inner;
    if (weekday !== undefined && outer.unit === "week")
      return { ...whole, unit: "day", weekday, days: () => ({ from: span.from + weekday, to: span.from + weekday }) };
  }
  return undefined;
}

/** "First week of", "last weekend of", "second half of". */
function countedWithin(text: string, time: FoundTime, language: WordsAround): FoundTime | undefined {
  if (time.unit === "day" || time.unit === "week") return undefined;
  const { start, groups } = matchBefore(text, time.start, language.counted) ?? {};
  if (start === undefined || groups === undefined) return undefined;
  const number = language.ordinalOf(groups["o"] ?? "");
  const unit = (["week", "weekend", "half"] as const).find((name) => groups[name] !== undefined) ?? "day";
  return {
    ...time,
    start,
    unit: unit === "week" || unit === "day" ? unit : "span",
    lone: false,
    days: (year) => nthWithin(time.days(year), number, unit),
  };
}

/** "Early", "mid", "end of". */
function partOf(text: string, time: FoundTime, language: WordsAround): FoundTime | undefined {
  if (time.unit === "day") return undefined;
  for (const [part, words] of language.parts) {
    const start = startOf(text, time.start, words);
    if (start !== undefined)
      return { ...time, start, unit: "span", lone: false, days: (year) => thirdOf(time.days(year), part) };
  }
  return undefined;
}

/** "From January 3 to February 5, 2024", "between Monday and Friday". */
function range(text: string, a: FoundTime, b: FoundTime, language: WordsAround): FoundTime | undefined {
  const gap = text.slice(a.end, b.start);
  const isBetween = startOf(text, a.start, language.between) !== undefined;
  if (!language.to.test(gap) && !(isBetween && language.and.test(gap))) return undefined;
  const start = startOf(text, a.start, language.betweenOrFrom);
  const hasYear = a.hasYear || b.hasYear;
  const days = (year: number): Days | undefined => {
    const [first, last] = a.hasYear && !b.hasYear ? fromFirst(a, b) : fromLast(a, b, year);
    if (!first || !last) return undefined;
    // The Monday before that Wednesday.
    const early = a.weekday === undefined ? 0 : 7 * Math.max(0, Math.ceil((first.from - last.to) / 7));
    return first.from - early <= last.to ? { from: first.from - early, to: last.to } : undefined;
  };
  if (days(2024) === undefined) return undefined;
  return {
    start: start ?? a.start,
    end: b.end,
    unit: "span",
    hasYear,
    days,
    languages: [language.name],
    isRange: true,
  };
}

function fromFirst(a: FoundTime, b: FoundTime): [Days | undefined, Days | undefined] {
  const first = a.days(0);
  if (!first) return [undefined, undefined];
  const year = yearOf(first.from);
  return [first, [year, year + 1].map((of) => b.days(of)).find((span) => span && span.to >= first.from)];
}

function fromLast(a: FoundTime, b: FoundTime, year: number): [Days | undefined, Days | undefined] {
  const last = b.days(year);
  if (!last) return [undefined, undefined];
  if (a.hasYear) return [a.days(0), last];
  const of = yearOf(last.to);
  return [[of, of - 1].map((in_) => a.days(in_)).find((span) => span && span.from <= last.to), last];
}

/** "Since", "before", "after", "until"; "the week before". */
function openSpan(text: string, time: FoundTime, language: WordsAround, today: number): FoundTime | undefined {
  for (const [side, words] of language.distances) {
    const { start, groups = {} } = matchBefore(text, time.start, words) ?? {};
    const unit = language.unitOf(groups["u"] ?? "");
    if (start !== undefined && unit !== undefined)
      return { ...distantTime(time, unit, language.numberOf(groups["n"] ?? ""), side), start };
  }
  for (const [opening, words] of language.openings) {
    const start = startOf(text, time.start, words);
    if (start !== undefined && !(time.isRange === true && opening === "since"))
      return { ...openTime(time, opening, today), start };
  }
  return undefined;
}

/** The words of a language that stand before and between times, as patterns. */
export interface WordsAround {
  name: string;
  /** Between two times that are one: "March of last year". */
  joins: RegExp;
  /** "First week of", with what is counted in a group of its own. */
  counted: RegExp;
  /** Which of the ordinals a word is, 1 for the first; 0 for the last. */
  ordinalOf(word: string): number;
  parts: readonly (readonly [Part, RegExp])[];
  /** Between the ends of a span. */
  to: RegExp;
  and: RegExp;
  between: RegExp;
  betweenOrFrom: RegExp;
  openings: readonly (readonly [Opening, RegExp])[];
  /** "The week before", "two days after", with the number and the unit. */
  distances: readonly (readonly ["before" | "after", RegExp])[];
  /** Undefined for a word that is no number, such as "the". */
  numberOf(word: string): number | undefined;
  unitOf(word: string): CountedUnit | undefined;
  /** "On the", "from": they are there for the time alone. */
  serving: RegExp;
  /** What a question holds that asks for nothing but a time. */
  filler: RegExp;
}

/** How far before a time its words are looked for. */
const reach = 60;

/** Where words right before a place begin, and their groups. */
function matchBefore(text: string, end: number, words: RegExp): { start: number; groups: Groups } | undefined {
  const from = Math.max(0, end - reach);
  const match = words.exec(text.slice(from, end));
  return match === null ? undefined : { start: from + match.index, groups: groupsOf(match) ?? {} };
}

export function startOf(text: string, end: number, words: RegExp): number | undefined {
  return matchBefore(text, end, words)?.start;
}

export function wordsAround(language: Language): WordsAround {
  const { of, in: within, article, units, ordinals, half, last, to, until, and, between, from, parts } = language;
  const gap = "(?:\\s+|(?<='))";
  const served = `(?:${oneOf(article, within)}${gap})*`;
  const leading = (...words: string[]): RegExp =>
    namedPattern(`${noLetterBefore}${oneOf(...words)}(?:[\\s-]+|(?<='))${served}$`);
  const distance = (words: string): RegExp =>
    namedPattern(
      `${noLetterBefore}(?:(?<n>\\d{1,3}|${oneOf(...language.numbers, article, last.before)})\\s+)?` +
        `(?<u>${oneOf(...countedUnits.map((unit) => units[unit]))})\\s+${oneOf(words)}(?:\\s+|(?<='))${served}$`,
    );
  return {
    name: language.name,
    joins: namedPattern(`^[\\s,]*(?:${oneOf(of, within, article)}${gap})*$`),
    counted: namedPattern(
      `${noLetterBefore}(?<o>${oneOf(...ordinals, last.before, last.after)}|\\d{1,2}${oneOf(language.ordinalEnd)})\\s+` +
        `(?:(?<week>${oneOf(units.week)})|(?<weekend>${oneOf(units.weekend)})|(?<half>${oneOf(half)})|(?<day>${oneOf(units.day)}))\\s+` +
        `(?:${oneOf(of, within, article, language.year.before)}${gap})*$`,
    ),
    ordinalOf: (word) => (/^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(ordinals, word) + 1),
    parts: (["early", "middle", "late"] as const).map((part) => [part, leading(parts[part])] as const),
    to: namedPattern(`^(?:\\s*-\\s*|\\s+${oneOf(to, until)}\\s+${served})$`),
    and: namedPattern(`^\\s+${oneOf(and)}\\s+${served}$`),
    between: leading(between),
    betweenOrFrom: leading(between, from),
    openings: (["since", "before", "after", "until"] as const).map((side) => [side, leading(language[side])] as const),
    distances: (["before", "after"] as const).map((side) => [side, distance(language[side])] as const),
    numberOf: (word) => {
      const number = /^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(language.numbers, word) + 1;
      return number > 0 ? number : undefined;
    },
    unitOf: (word) => countedUnits.find((unit) => indexOf([units[unit]], word) === 0),
    serving: namedPattern(`(?<!${edge}|')(?:${oneOf(within, article, between, from)}${gap})+$`),
    // An elided word stands before another: "qu'avons".
    filler: namedPattern(`^(?:${oneOf(language.fillers)}'?)?(?:${oneOf(language.fillers)})?$`),
  };
}
