import { type Groups, groupsOf } from "./named-pattern.ts";
import { type Days, localDay, yearOf } from "./calendar.ts";

export type TimeUnit = "day" | "week" | "month" | "season" | "year" | "span";

/** A time as some words name it, before it is known which year is meant. */
export interface FoundTime {
  /** Where the words stand in the folded text. */
  start: number;
  end: number;
  unit: TimeUnit;
  /** Whether the words say of which year it is; where not, `days` is asked with one. */
  hasYear: boolean;
  days(year: number): Days | undefined;
  /** What the time is measured from, where it is not the time itself: "March" in "since March". */
  named?: { unit: TimeUnit; days(year: number): Days | undefined } | undefined;
  /** All on one side of what is named. */
  isOpen?: boolean | undefined;
  /** 0 is Monday: a day of the week is another day beside the name of a week. */
  weekday?: number | undefined;
  /** The word alone may be anything ("Friday", "summer"): it is a time only beside another one, or where nothing else is asked. */
  lone?: boolean | undefined;
  /** From one day to another: "from" is no "since" before it. */
  isRange?: boolean | undefined;
  /** A day that no calendar has: the 31st of February. */
  isNoDay?: boolean | undefined;
  /** The languages that the words are of; none for figures. */
  languages: readonly string[];
}

/** What words are read against. */
export interface ReadingContext {
  today: number;
  dayFirst: boolean;
}

export function contextOf(now: Date, dayFirst: boolean): ReadingContext {
  return { today: localDay(now), dayFirst };
}

/** Everywhere that a pattern matches and `read` makes a time of it. */
export function findAll(
  text: string,
  pattern: RegExp,
  language: string | undefined,
  read: (groups: Groups, match: RegExpExecArray) => TimeRead | undefined,
): FoundTime[] {
  const found: FoundTime[] = [];
  for (const match of text.matchAll(pattern)) {
    const time = read(groupsOf(match) ?? {}, match);
    if (time && exists(time))
      found.push({
        ...time,
        start: match.index,
        end: match.index + match[0].length,
        languages: language === undefined ? [] : [language],
      });
  }
  return found;
}

export type TimeRead = Pick<
  FoundTime,
  "unit" | "hasYear" | "days" | "named" | "isOpen" | "weekday" | "lone" | "isRange" | "isNoDay"
>;

/** A time whose days are known. */
export function known(unit: TimeUnit, days: Days | undefined): TimeRead | undefined {
  return days && { unit, hasYear: true, days: () => days };
}

/** A time of a year that the words name, or leave open. */
export function ofYear(
  unit: TimeUnit,
  year: string | number | undefined,
  days: (year: number) => Days | undefined,
): TimeRead | undefined {
  return year === undefined || year === "" ? { unit, hasYear: false, days } : known(unit, days(Number(year)));
}

/** A day of a month, and one that no calendar has where its number is one of a day. */
export function dayOf(read: TimeRead | undefined, month: number, day: number): TimeRead | undefined {
  if (read !== undefined && exists(read)) return read;
  const isWritten = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  return isWritten ? { unit: "day", hasYear: true, days: () => undefined, isNoDay: true } : undefined;
}

/** The last such time that is over, the one of now or of this year, or the next one to come. */
export function besideToday(
  unit: TimeUnit,
  today: number,
  step: number,
  days: (year: number) => Days | undefined,
): TimeRead | undefined {
  const year = yearOf(today);
  const near = [year + 1, year, year - 1, year - 2].map(days).filter((span) => span !== undefined);
  if (step < 0)
    return known(
      unit,
      near.find(({ to }) => to < today),
    );
  if (step > 0)
    return known(
      unit,
      near.toReversed().find(({ from }) => from > today),
    );
  return known(unit, near.find(({ from, to }) => from <= today && today <= to) ?? days(year));
}

/** A leap year is asked where none is named: the 29th of February is a day. */
function exists({ hasYear, days, isNoDay }: TimeRead): boolean {
  return isNoDay === true || hasYear || days(2024) !== undefined;
}

/**
 * The longest of those that overlap, the first of those that are as long; what is the same in several languages is of
 * all of them. In their order in the text.
 */
export function withoutOverlaps(found: readonly FoundTime[]): FoundTime[] {
  const kept: FoundTime[] = [];
  for (const time of found.toSorted((a, b) => b.end - b.start - (a.end - a.start))) {
    const [over, ...more] = kept.keys().filter((index) => {
      const { start, end } = kept[index] ?? time;
      return time.end > start && time.start < end;
    });
    const other = over === undefined || more.length > 0 ? undefined : kept[over];
    if (over === undefined) kept.push(time);
    else if (
      other?.start === time.start &&
      other.end === time.end &&
      other.unit === time.unit &&
      other.hasYear === time.hasYear
    )
      kept[over] = {
        ...other,
        lone: other.lone === true && time.lone === true,
        languages: [...other.languages, ...time.languages],
      };
  }
  return kept.sort((a, b) => a.start - b.start);
}

/** What may be no time, where nothing beside it says that it is one. */
export function loneUnless(isSure: boolean, read: TimeRead | undefined): TimeRead | undefined {
  return read && (isSure ? read : { ...read, lone: true });
}
