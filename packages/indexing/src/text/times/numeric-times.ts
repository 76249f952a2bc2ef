import { type Groups, namedPattern } from "./named-pattern.ts";
import { dayNumber, isoDate, monthDays, oneDay, quarterDays, weekDays, yearDays } from "./calendar.ts";
import { dayOf, findAll, type FoundTime, known, ofYear, type ReadingContext, type TimeRead } from "./found-time.ts";
import { edge } from "./grammar/language.ts";
import { lazily } from "@memslot/core";

/** Neither within a number, a word or a version such as 1.2024, nor behind a sign that makes a figure something else. */
const start = `(?<!${edge}|[_#$€£+=]|\\d[.,:/-]|${edge}[-.:]|\\d\\s)`;
const yearStart = `(?:(?<=(?<![a-z])(?:mid|early|late|mi)-)|(?<!${edge}|[_#$€£+=]|\\d[.,:/-]|${edge}[-.:/]|[-/.]))`;
const end = String.raw`(?![\d%]|[-/.:]\d)`;
const wordEnd = `(?!${edge}|_)${end}`;
const yearEnd = `(?!${edge}|[_%€$£]|[-/.:,]\\d|[-/_]${edge}|\\s\\d)`;
const intro = `(?<=(?:^|[^a-z])(?:on|am|vom|zum|bis|seit|le|du|au|el|del|al|il|op|em|no|dia|since|before|after|until|by)\\s)`;
const quarterIntro = String.raw`(?<=(?:^|\s)(?:in|of|for|during|im|fur|en|au|since|before|after)\s)`;
const year = String.raw`(?<y>(?:19|20)\d\d)`;

type Rule = readonly [pattern: RegExp, read: (groups: Groups, context: ReadingContext) => TimeRead | undefined];

/** Times in figures, which are the same in all languages: `2024-01-16`, `16/01/2024`, `2024-W12`, `Q3 2024`, `2024`. */
export function numericTimes(text: string, context: ReadingContext): FoundTime[] {
  if (!/\d/.test(text)) return [];
  return rules().flatMap(([pattern, read]) => findAll(text, pattern, undefined, (groups) => read(groups, context)));
}

const rules = lazily((): Rule[] => [
  rule(String.raw`${start}(?<y>\d{4})[-/.](?<m>\d{1,2})[-/.](?<d>\d{1,2})${end}`, readDay),
  rule(String.raw`${start}(?<y>\d{4})_(?<m>\d\d)_(?<d>\d\d)${end}`, readDay),
  rule(String.raw`${start}${year}(?<m>0[1-9]|1[0-2])(?<d>[0-2]\d|3[01])${wordEnd}`, readDay),
  rule(String.raw`${start}(?<a>\d{1,2})(?<s>[./-])(?<b>\d{1,2})\k<s>(?<y>\d{4})${wordEnd}`, readEither),
  // Of two figures a year is only read where the rest is written as people write dates, not as versions are.
  rule(String.raw`${start}(?<a>\d{2})(?<s>[./])(?<b>\d{2})\k<s>(?<y>[0-4]\d)${wordEnd}`, readEither),
  rule(String.raw`${intro}(?<a>\d{1,2})(?<s>[./])(?<b>\d{1,2})${wordEnd}(?:\.(?=\s|$))?`, readEither),
  rule(String.raw`${start}(?<a>\d{2})\.(?<b>\d{2})\.(?=\s|$)`, readEither),
  rule(String.raw`(?<=^\s*)(?<a>\d{1,2})(?<s>\.)(?<b>\d{1,2})\.(?=\s*$)`, readEither),
  // "What did I do on the 12th?" With more behind it, it may be a floor.
  rule(
    String.raw`(?<=(?:^|\s)(?:on the|am|le|op de)\s)(?<d>[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|\.)(?=[\s?!.]*$)`,
    readDayOfMonth,
  ),
  rule(String.raw`${start}(?<y>(?:1[5-9]|20)\d\d)[-/](?<m>0?[1-9]|1[0-2])${wordEnd}(?!-[a-z]|年)`, readMonth),
  rule(String.raw`${start}(?<m>0?[1-9]|1[0-2])\/${year}${wordEnd}`, readMonth),
  rule(String.raw`${start}(?<y>\d{4})[- ]?w(?<w>\d\d?)(?!${edge})`, readWeek),
  rule(String.raw`${start}w(?<w>\d\d?)[ /-]${year}(?!${edge})`, readWeek),
  rule(String.raw`${start}q(?<q>[1-4])[ /-]?(?:of )?${year}(?!${edge})`, readQuarter),
  rule(String.raw`${start}${year}[ /-]?q(?<q>[1-4])(?!${edge})`, readQuarter),
  rule(String.raw`${quarterIntro}q(?<q>[1-4])(?!${edge})`, readQuarter),
  rule(String.raw`${start}h(?<h>[12])[ /-]?${year}(?!${edge})`, readHalf),
  rule(String.raw`${start}${year}[ /-]?h(?<h>[12])(?!${edge})`, readHalf),
  rule(String.raw`${yearStart}${year}\s?-\s?(?<z>(?:19|20)\d\d)${yearEnd}`, readYears),
  rule(String.raw`${yearStart}${year}${yearEnd}`, ({ y }) => known("year", yearDays(Number(y)))),
]);

function readDay({ y, m, d }: Groups): TimeRead | undefined {
  return dayOf(known("day", oneDay(Number(y), Number(m), Number(d))), Number(m), Number(d));
}

/** The day first or the month, as it is configured, and the other way round where there is no such day. */
function readEither({ a, b, y }: Groups, { dayFirst }: ReadingContext): TimeRead | undefined {
  const of = y?.length === 2 ? 2000 + Number(y) : y;
  const ways = [
    { day: Number(a), month: Number(b) },
    { day: Number(b), month: Number(a) },
  ];
  const way = (dayFirst ? ways : ways.toReversed()).find(
    ({ day, month }) => dayNumber(Number(of ?? 2024), month, day) !== undefined,
  );
  if (way !== undefined) return ofYear("day", of, (year_) => oneDay(year_, way.month, way.day));
  const [wanted] = dayFirst ? ways : ways.toReversed();
  // Without a year it may be a number.
  return wanted && of !== undefined ? dayOf(undefined, wanted.month, wanted.day) : undefined;
}

/** The last such day up to now. */
function readDayOfMonth({ d }: Groups, { today }: ReadingContext): TimeRead | undefined {
  const day = Array.from({ length: 62 }, (_, back) => today - back).find((at) =>
    isoDate(at).endsWith(`-${d?.padStart(2, "0")}`),
  );
  return day === undefined ? undefined : known("day", { from: day, to: day });
}

function readMonth({ y, m }: Groups): TimeRead | undefined {
  return known("month", monthDays(Number(y), Number(m)));
}

function readWeek({ y, w }: Groups): TimeRead | undefined {
  return known("week", weekDays(Number(y), Number(w)));
}

function readQuarter({ y, q }: Groups): TimeRead | undefined {
  return ofYear("season", y, (year) => quarterDays(year, Number(q)));
}

function readHalf({ y, h }: Groups): TimeRead | undefined {
  return known("span", monthDays(Number(y), 6 * Number(h) - 5, 6));
}

function readYears({ y, z }: Groups): TimeRead | undefined {
  const [first, last] = [Number(y), Number(z)];
  return first < last ? known("span", yearDays(first, last - first + 1)) : undefined;
}

function rule(source: string, read: Rule[1]): Rule {
  return [namedPattern(source, "g"), read];
}
