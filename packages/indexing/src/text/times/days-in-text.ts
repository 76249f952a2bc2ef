import { lazily } from "@memslot/core";
import { dayNumber, type Days } from "./calendar.ts";
import { foldText } from "./fold-text.ts";
import { indexOf, oneOf } from "./grammar/language.ts";
import { monthWords } from "./grammar/languages.ts";
import { type Groups, groupsOf, namedPattern } from "./named-pattern.ts";

/** How far from its year the rest of a day is, at most. */
const reachBefore = 32;
const reachAfter = 12;
const years = /(?<!\d)((?:19|20)\d\d)(?!\d)(?:-(\d\d)-(\d\d)(?!\d))?/gu;
const start = String.raw`(?<!\d|\d[.,:/-])`;
const end = String.raw`(?!\d|[-/.:]\d)`;
const year = String.raw`(?<y>\d{4})`;
const day = String.raw`(?<d>\d\d?)(?:st|nd|rd|th|er|te|ten|o|º|°|-?го)?`;

const forms = lazily(() => {
  const month = `(?<name>${oneOf(...monthWords)})`;
  return [
    String.raw`${start}${year}(?<s>[-/._])(?<m>\d\d?)\k<s>(?<d>\d\d?)${end}`,
    String.raw`${start}(?<a>\d\d?)(?<s>[-/.])(?<b>\d\d?)\k<s>${year}${end}`,
    String.raw`${start}${day}[\s.-]*(?:(?:of|de) )?${month}[\s.,-]*(?:(?:of|del?) )?${year}${end}`,
    String.raw`(?<![a-z])${month}[\s.-]*${day}[\s,-]+${year}${end}`,
    String.raw`${year} ?年 ?(?<m>\d\d?) ?月 ?(?<d>\d\d?) ?[日号]`,
  ].map((form) => namedPattern(form, "g"));
});

/**
 * The days that a text names with their year: `2020/10/26`, `26.10.2020`, `10-26-2020`, `26 Oct 2020`, `May 9, 2023`,
 * `2023年5月9日`. Of what could be two days (`05/09/2023`) it is neither; with points the day comes first.
 */
export function daysInText(text: string): Days[] {
  const days = new Set<number>();
  const take = (found: number | undefined): unknown => found !== undefined && days.add(found);
  for (const { index, 1: y, 2: m, 3: d } of text.matchAll(years)) {
    if (m !== undefined) {
      take(dayOf({ y, m, d }));
      continue;
    }
    const before = foldText(text.slice(Math.max(0, index - reachBefore), index)).text;
    const near = before + foldText(text.slice(index, index + 4 + reachAfter)).text;
    for (const form of forms())
      for (const match of near.matchAll(form)) {
        // What does not hold this year is cut off, or is found with its own.
        const isOfYear = match.index <= before.length && match.index + match[0].length > before.length;
        if (isOfYear) take(dayOf(groupsOf(match) ?? {}));
      }
  }
  return [...days].map((each) => ({ from: each, to: each }));
}

function dayOf({ y, m, d, a, b, s, name }: Groups): number | undefined {
  const of = (month: number, date: number): number | undefined => dayNumber(Number(y), month, date);
  if (name !== undefined) return of(indexOf(monthWords, name) + 1, Number(d));
  if (a === undefined) return of(Number(m), Number(d));
  const [dayFirst, monthFirst] = [of(Number(b), Number(a)), of(Number(a), Number(b))];
  if (dayFirst === undefined || dayFirst === monthFirst || s === ".") return dayFirst ?? monthFirst;
  return monthFirst === undefined ? dayFirst : undefined;
}
