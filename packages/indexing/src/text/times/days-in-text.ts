import { lazily } from "@memslot/core/host";
import { remembered } from "../word-cache.ts";
import { dayNumber, type Days, isoDate, yearOf } from "./calendar.ts";
import { monthWords, foldText, type Groups, indexOf, patternsOf } from "./grammar.ts";

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
