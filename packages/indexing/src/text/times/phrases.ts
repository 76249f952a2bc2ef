import { lazily } from "@memslot/core";
import {
  type Days,
  holidayDays,
  isOneDay,
  joined,
  monthDays,
  oneDay,
  quarterDays,
  seasonDays,
  thirdOf,
  weekDays,
  weekdayOf,
  yearDays,
} from "./calendar.ts";
import {
  agoDays,
  besideToday,
  dayOf,
  findAll,
  type FoundTime,
  known,
  loneUnless,
  ofYear,
  type ReadingContext,
  recentDays,
  sameDayAgo,
  type TimeRead,
  unitBeside,
  weekdayBeside,
} from "./found-time.ts";
import { type CountedUnit, countedUnits, type Language } from "./language.ts";
import { edge, type Groups, indexOf, namedPattern, noLetterBefore, oneOf, wordsOf } from "./patterns.ts";

/** Reads the times that a text of one language names, those that overlap too. */
export type PhraseReader = (text: string, context: ReadingContext) => FoundTime[];

/** A name in the calendar of which every year has one. */
interface Named {
  unit: FoundTime["unit"];
  days(year: number): Days | undefined;
  /** Whether the word alone is nothing else. */
  isSure: boolean;
}

/** Makes the patterns of a language when they are first needed: most queries name no time. */
export function phraseReader(language: Language): PhraseReader {
  const rules = lazily(() =>
    [dayRules, namedRules, relativeRules, countedRules].flatMap((rulesOf) =>
      rulesOf(language).map(([source, read]) => [namedPattern(source, "g"), read] as const),
    ),
  );
  return (text, context) => {
    return rules().flatMap(([pattern, read]) =>
      findAll(text, pattern, language.name, (groups, match) =>
        read(withLongYear(groups), context, text.slice(Math.max(0, match.index - 60), match.index)),
      ),
    );
  };
}

/** '23 is 2023, and '98 is 1998. */
function withLongYear({ yy, ...groups }: Groups): Groups {
  return yy === undefined ? groups : { ...groups, y: String(Number(yy) + (Number(yy) < 50 ? 2000 : 1900)) };
}

type Rule = readonly [
  pattern: string,
  read: (groups: Groups, context: ReadingContext, before: string) => TimeRead | undefined,
];

/** "12 March 2024", "January 3-5". */
function dayRules(language: Language): Rule[] {
  const { start, end, day, month, year, of, until, weekday } = piecesOf(language);
  const monthFirst = language.monthFirst ? "" : "(?!)";
  const numberOf = (figure?: string, word?: string): number =>
    figure === undefined ? indexOf(language.ordinals, word ?? "") + 1 : Number(figure);
  const monthNumber = (word?: string): number => indexOf(language.months, word ?? "") + 1;
  const readDay: Rule[1] = ({ d, dw, m, y }) => {
    const [inMonth, inDay] = [monthNumber(m), numberOf(d, dw)];
    return dayOf(
      ofYear("day", y, (in_) => oneDay(in_, inMonth, inDay)),
      inMonth,
      inDay,
    );
  };
  const readDays: Rule[1] = ({ d, dw, d2, dw2, m, y, and }, _, before) => {
    const [first, last] = [numberOf(d, dw), numberOf(d2, dw2)];
    if (first >= last || (and !== undefined && !isBetween.test(before))) return undefined;
    return asRange(
      ofYear("span", y, (in_) => joined(oneDay(in_, monthNumber(m), first), oneDay(in_, monthNumber(m), last))),
    );
  };
  const readMonths: Rule[1] = ({ m, m2, y }, _, before) => {
    if (y === undefined && !isOpened.test(before)) return undefined;
    const [first, last] = [monthNumber(m), monthNumber(m2)];
    return asRange(
      ofYear("span", y, (in_) => joined(monthDays(last < first ? in_ - 1 : in_, first), monthDays(in_, last))),
    );
  };
  const isBetween = namedPattern(`${noLetterBefore}${oneOf(language.between)}\\s+(?:${oneOf(language.article)}\\s+)?$`);
  const isOpened = endingIn(language.between, language.from, language.in);
  const second = `(?:${oneOf(language.article, language.in)}\\s+)?${day.replace("<d>", "<d2>").replace("<dw>", "<dw2>")}`;
  return [
    [`${start}${weekday}?${day}\\.?(?:\\s+|\\s*-\\s*|(?<=\\.))${of}?${month}${year}?${end}`, readDay],
    [`${start}${weekday}?${monthFirst}${month}\\.?(?:\\s+|-)(?:the\\s+)?${day}${year}?${end}`, readDay],
    [`${start}${day}\\.?${until}${second}\\.?(?:\\s+|-|(?<=\\.))${of}?${month}${year}?${end}`, readDays],
    [`${start}${monthFirst}${month}\\.?\\s+${day}${until}${second}${year}?${end}`, readDays],
    [`${start}${month}${until}${month.replace("<m>", "<m2>")}${year}?${end}`, readMonths],
  ];
}

/** "March", "summer 2023", "last Christmas". */
function namedRules(language: Language): Rule[] {
  const isAnnounced = announcementOf(language);
  const { start, end, year, names, step } = piecesOf(language);
  const named = (word = ""): Named | undefined => nameOf(language, word);
  const readNamed: Rule[1] = ({ x, y }, _, before) => {
    const name = named(x);
    if (!name) return undefined;
    const read = ofYear(name.unit, y, name.days);
    return loneUnless(y !== undefined || name.isSure || isAnnounced.test(before), read);
  };
  const readBeside: Rule[1] = (groups, { today }) => {
    const name = named(groups["x"]);
    return name && besideToday(name.unit, today, stepOf(groups), name.days);
  };
  return [
    [`${start}(?<x>${names})${year}?${end}(?!\\.?,?\\s*\\d{1,2}(?!\\d))`, readNamed],
    [`${start}${step.before}\\s+(?<x>${names})${end}`, readBeside],
    [`${start}(?<x>${names})\\s+${step.after}${end}`, readBeside],
  ];
}

/** "Yesterday", "last Friday", "three weeks ago". */
function relativeRules(language: Language): Rule[] {
  const isAnnounced = announcementOf(language);
  const { start, end, count, unit, step, days, weekdays, of, part } = piecesOf(language);
  const countOf = (text = ""): number | undefined =>
    /^\d/.test(text) ? Number(text) : indexOf([language.few, ...language.numbers], text);
  const unitOf = (word = ""): CountedUnit | undefined =>
    countedUnits.find((name) => indexOf([language.units[name]], word) === 0);
  const readBeside: Rule[1] = (groups, { today }) => unitBeside(unitOf(groups["u"]), stepOf(groups), today);
  const readBeforeLast: Rule[1] = ({ u }, { today }) => unitBeside(unitOf(u), -2, today);
  const readAgo: Rule[1] = ({ n, u }, { today }) => agoDays(countOf(n), unitOf(u), today);
  const readSameDay: Rule[1] = ({ n, u }, { today: now }) => sameDayAgo(countOf(n), unitOf(u), now);
  const today = oneOf(
    ...Object.entries(language.relativeDays).flatMap(([words, offset]) => (offset === 0 ? [words] : [])),
  );
  const { beforeLast, last, this: current, next } = language;
  // "Fin del año pasado" is of the year before.
  const steps = oneOf(beforeLast.after, last.after, current.after, next.after);
  const readRecent: Rule[1] = ({ n, u }, { today }) => recentDays(countOf(n), unitOf(u), today);
  const readWeekday: Rule[1] = (groups, { today }) =>
    weekdayBeside(indexOf(language.weekdays, groups["x"] ?? ""), stepOf(groups), today);
  const readLoneWeekday: Rule[1] = ({ x = "" }, { today }, before) =>
    loneUnless(isAnnounced.test(before), weekdayBeside(indexOf(language.weekdays, x), -1, today));
  return [
    [
      `${start}(?<x>${days})${end}`,
      ({ x = "" }, { today }) => {
        const offset = Object.values(language.relativeDays)[indexOf(Object.keys(language.relativeDays), x)];
        return offset === undefined ? undefined : known("day", { from: today + offset, to: today + offset });
      },
    ],
    [`${start}${oneOf(language.past)}\\s+(?<u>${unit})${end}`, ({ u }, { today }) => recentDays(1, unitOf(u), today)],
    // "Recently" may stand beside anything, "in den letzten Tagen" is a time.
    [
      `${start}(?<x>${language.lately})${end}`,
      ({ x = "" }, { today }) => loneUnless(x.includes(" "), recentDays(2, "week", today)),
    ],
    [
      `${start}${part}\\s+(?:${oneOf(language.article)}\\s+)?(?<u>${unit})${end}(?!\\s+(?:${of}|\\d|${steps}))`,
      (groups, { today }) => {
        const [now, piece] = [unitOf(groups["u"]), (["early", "middle", "late"] as const).find((name) => groups[name])];
        if (now === undefined || now === "day" || now === "weekend" || piece === undefined) return undefined;
        return known("span", thirdOf(unitBeside(now, 0, today)?.days(0), piece));
      },
    ],
    [`${start}${oneOf(language.beforeLast.before)}\\s+(?<u>${unit})${end}`, readBeforeLast],
    [`${start}(?<u>${unit})\\s+${oneOf(language.beforeLast.after)}${end}`, readBeforeLast],
    [`${start}${step.before}\\s+(?<u>${unit})${end}`, readBeside],
    [`${start}(?<u>${unit})\\s+${step.after}${end}`, readBeside],
    [
      `${start}${oneOf(language.units.weekend)}${end}`,
      (_, { today }, before) =>
        loneUnless(isAnnounced.test(before), unitBeside("weekend", weekdayOf(today) < 5 ? -1 : 0, today)),
    ],
    [`${start}${oneOf(language.ago.before)}\\s+${count}\\s+(?<u>${unit})${end}`, readAgo],
    [`${start}${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`, readAgo],
    [
      `${start}${language.countMayLack === true ? "" : "(?!)"}(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`,
      ({ u }, { today }) => agoDays(1, unitOf(u), today),
    ],
    [`${start}${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}\\s+${today}${end}`, readSameDay],
    [`${start}${today}\\s+${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`, readSameDay],
    [`${start}${today}\\s+${oneOf(language.ago.before)}\\s+${count}\\s+(?<u>${unit})${end}`, readSameDay],
    [`${start}${oneOf(language.recent.before)}\\s+${count}\\s+(?<u>${unit})${end}`, readRecent],
    [`${start}${count}\\s+${oneOf(language.recent.after)}\\s+(?<u>${unit})${end}`, readRecent],
    [`${start}(?<x>${weekdays})${end}`, readLoneWeekday],
    [`${start}${step.before}\\s+(?<x>${weekdays})${end}`, readWeekday],
    [`${start}(?<x>${weekdays})\\s+${step.after}${end}`, readWeekday],
  ];
}

/** "Week 12 of 2024", "third quarter", "1990s". */
function countedRules(language: Language): Rule[] {
  const isAnnounced = announcementOf(language);
  const { start, end, year, yearFigures, ordinal } = piecesOf(language);
  const decade = language.decade.replaceAll("DECADE", "(?<y>(?:1[5-9]|20)?\\d0)");
  return [
    [
      `${start}(?<k>${language.weekNumber})\\s*(?:#|n[or]\\.?\\s)?\\s*(?<w>[1-9]|0[1-9]|[1-4]\\d|5[0-3])${year}?${end}`,
      ({ k = "", w, y }, _, before) => {
        const read = ofYear("week", y, (in_) => weekDays(in_, Number(w)));
        return loneUnless(y !== undefined || k.startsWith("k") || isAnnounced.test(before), read);
      },
    ],
    [
      `${start}${ordinal}\\s+${oneOf(language.units.quarter)}${year}?${end}`,
      ({ o, y }) => ofYear("season", y, (in_) => quarterDays(in_, indexOf(language.ordinals, o ?? "") + 1)),
    ],
    ...yearFigures.map((figure): Rule => [`${start}${figure}${end}`, ({ y }) => known("year", yearDays(Number(y)))]),
    [
      `${start}${oneOf(decade)}${end}`,
      ({ y = "" }) =>
        known("span", yearDays(y.length === 4 ? Number(y) : 1900 + Number(y) + (Number(y) < 30 ? 100 : 0), 10)),
    ],
  ];
}

/** What comes before that says that a word such as "May" or "summer" is a time. */
function announcementOf(language: Language): RegExp {
  const { parts, since, before, after, until, between, from } = language;
  return endingIn(language.in, since, before, after, until, between, from, ...Object.values(parts));
}

function endingIn(...words: readonly string[]): RegExp {
  return namedPattern(`${noLetterBefore}${oneOf(...words)}(?:[\\s-]+|(?<='))$`);
}

function nameOf({ months, loneMonths, seasons, holidays }: Language, word: string): Named | undefined {
  const month = indexOf(months, word);
  if (month >= 0)
    return { unit: "month", days: (year) => monthDays(year, month + 1), isSure: indexOf([loneMonths], word) === 0 };
  const season = keyOf(seasons, word);
  if (season !== undefined) return { unit: "season", days: (year) => seasonDays(year, season), isSure: false };
  const holiday = keyOf(holidays, word);
  if (holiday === undefined) return undefined;
  return { unit: isOneDay(holiday) ? "day" : "span", days: (year) => holidayDays(holiday, year), isSure: false };
}

/** The first key whose words a word is one of. */
function keyOf<Key extends string>(patterns: Readonly<Partial<Record<Key, string>>>, word: string): Key | undefined {
  return (Object.keys(patterns) as Key[]).find((key) => indexOf([patterns[key] ?? ""], word) === 0);
}

function stepOf(groups: Groups): number {
  if (groups["bl"] !== undefined || groups["al"] !== undefined) return -1;
  return groups["bn"] !== undefined || groups["an"] !== undefined ? 1 : 0;
}

function asRange(read: TimeRead | undefined): TimeRead | undefined {
  return read && { ...read, isRange: true };
}

/** Neither within a word nor within a number such as 1.12 or an identifier such as QF-12. */
const start = `(?<!${edge}|\\d[.,:/-]|${edge}-(?=\\d)|[#$€£]|v\\.)`;
const end = `(?!${edge}|%|[.:/-]\\d)`;
const figures = String.raw`(?:1[5-9]|20)\d{2}`;

/** The parts that the patterns of a language are put together from. A comment names the groups of a part. */
function piecesOf(language: Language) {
  const { months, weekdays, ordinals, article, last, next } = language;
  const of = `(?:${oneOf(language.of)}(?:\\s+|(?<=')))`;
  const yearEnd = language.year.after === "" ? "" : `(?:\\s*${oneOf(language.year.after)})?`;
  const yearWord = language.year.before === "" ? "" : `(?:${oneOf(language.year.before)}\\s+)?`;
  const seasons = Object.values(language.seasons);
  return {
    start,
    end,
    // `d`, a figure, or `dw`, a word.
    day: `(?:(?<d>0?[1-9]|[12]\\d|3[01])${oneOf(language.ordinalEnd)}?|(?<dw>${wordsOf(...ordinals)}))`,
    month: `(?<m>${wordsOf(...months)})`,
    // `y`, or `yy` for '23, with what stands before it. A winter or a school year may be 2023/24.
    year: `(?:[.,]{0,2}(?:\\s+|\\s*[-/]|(?<=[.,]))${of}?${yearWord}(?:(?<y>${figures})(?:/\\d\\d(?!\\d))?|'(?<yy>\\d\\d))${yearEnd})`,
    // `y` of a year that a word of the language stands beside.
    yearFigures: [
      `${oneOf(language.year.before)}\\s+(?<y>${figures})`,
      `(?<y>${figures})\\s*${oneOf(language.year.after)}`,
    ],
    of,
    // Between two days; `and` where it is the word that may also list them.
    until: `(?:\\s*-\\s*|\\s+${oneOf(language.to, language.until)}\\s+|(?<and>\\s+${oneOf(language.and)}\\s+))`,
    weekday: `(?:${oneOf(...weekdays)}[,.]?\\s+(?:${oneOf(article)}\\s+)?)`,
    weekdays: wordsOf(...weekdays),
    // Months, seasons and holidays.
    names: wordsOf(...months, ...seasons, ...Object.values(language.holidays)),
    days: wordsOf(...Object.keys(language.relativeDays)),
    count: `(?<n>\\d{1,3}|${wordsOf(language.few, ...language.numbers)})`,
    ordinal: `(?<o>${wordsOf(...ordinals)})`,
    unit: wordsOf(...countedUnits.map((name) => language.units[name])),
    part: `(?:${Object.entries(language.parts)
      .map(([name, given]) => `(?<${name}>${given})`)
      .join("|")})`,
    // Last, this, next.
    step: {
      before: `(?:(?<bl>${wordsOf(last.before)})|(?<bt>${wordsOf(language.this.before)})|(?<bn>${wordsOf(next.before)}))`,
      after: `(?:(?<al>${wordsOf(last.after)})|(?<at>${wordsOf(language.this.after)})|(?<an>${wordsOf(next.after)}))`,
    },
  };
}
