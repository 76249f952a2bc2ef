import { type Days, nthWithin, thirdOf, yearOf } from "./calendar.ts";
import { distantTime, type FoundTime, openTime, withoutOverlaps } from "./found-time.ts";
import { type Grammar, type Groups, groupsOf } from "./grammar.ts";

export function combineTimes(
  text: string,
  found: readonly FoundTime[],
  languages: readonly Grammar[],
  today: number,
): FoundTime[] {
  const first = <Time>(time: FoundTime, read: (language: Grammar) => Time | undefined): Time | undefined => {
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
  times = withoutOverlaps(times);
  times = joinNeighbours(times, (a, b) =>
    first(a.languages.length === 0 ? b : a, (language) => range(text, a, b, language)),
  );
  return withoutOverlaps(times.map((time) => first(time, (language) => openSpan(text, time, language, today)) ?? time));
}

export function languagesOf(time: FoundTime, all: readonly Grammar[]): readonly Grammar[] {
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

function beside(text: string, a: FoundTime, b: FoundTime, language: Grammar): FoundTime | undefined {
  if (!language.pattern("joins").test(text.slice(a.end, b.start))) return undefined;
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

function countedWithin(text: string, time: FoundTime, language: Grammar): FoundTime | undefined {
  if (time.unit === "day" || time.unit === "week") return undefined;
  const { start, groups } = matchBefore(text, time.start, language.pattern("counted")) ?? {};
  if (start === undefined || groups === undefined) return undefined;
  const number = language.ordinalOf(groups["o"]);
  const unit = (["week", "weekend", "half"] as const).find((name) => groups[name] !== undefined) ?? "day";
  return {
    ...time,
    start,
    unit: unit === "week" || unit === "day" ? unit : "span",
    lone: false,
    days: (year) => nthWithin(time.days(year), number, unit),
  };
}

function partOf(text: string, time: FoundTime, language: Grammar): FoundTime | undefined {
  if (time.unit === "day") return undefined;
  for (const part of ["early", "middle", "late"] as const) {
    const start = startOf(text, time.start, language.pattern(part));
    if (start !== undefined)
      return { ...time, start, unit: "span", lone: false, days: (year) => thirdOf(time.days(year), part) };
  }
  return undefined;
}

function range(text: string, a: FoundTime, b: FoundTime, language: Grammar): FoundTime | undefined {
  const gap = text.slice(a.end, b.start);
  const isBetween = startOf(text, a.start, language.pattern("between")) !== undefined;
  if (!language.pattern("to").test(gap) && !(isBetween && language.pattern("and").test(gap))) return undefined;
  const start = startOf(text, a.start, language.pattern("betweenOrFrom"));
  const hasYear = a.hasYear || b.hasYear;
  const days = (year: number): Days | undefined => {
    const [first, last] = a.hasYear && !b.hasYear ? fromFirst(a, b) : fromLast(a, b, year);
    if (!first || !last) return undefined;
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

function openSpan(text: string, time: FoundTime, language: Grammar, today: number): FoundTime | undefined {
  for (const side of ["before", "after"] as const) {
    const words = language.pattern(side === "before" ? "distanceBefore" : "distanceAfter");
    const { start, groups = {} } = matchBefore(text, time.start, words) ?? {};
    const unit = language.unitOf(groups["u"]);
    if (start !== undefined && unit !== undefined)
      return { ...distantTime(time, unit, language.numberOf(groups["n"]), side), start };
  }
  for (const opening of ["since", "before", "after", "until"] as const) {
    const start = startOf(text, time.start, language.pattern(opening));
    if (start !== undefined && !(time.isRange === true && opening === "since"))
      return { ...openTime(time, opening, today), start };
  }
  return undefined;
}

const reach = 60;

function matchBefore(text: string, end: number, words: RegExp): { start: number; groups: Groups } | undefined {
  const from = Math.max(0, end - reach);
  const match = words.exec(text.slice(from, end));
  return match === null ? undefined : { start: from + match.index, groups: groupsOf(match) ?? {} };
}

export function startOf(text: string, end: number, words: RegExp): number | undefined {
  return matchBefore(text, end, words)?.start;
}
