import { type Groups, namedPattern } from "../named-pattern.ts";
import {
  type Days,
  monthDays,
  oneDay,
  quarterDays,
  type Season,
  seasonDays,
  weekDays,
  weekdayOf,
  yearDays,
} from "../calendar.ts";
import { type Feast, feastDays, isOneDay } from "../feasts.ts";
import {
  besideToday,
  dayOf,
  findAll,
  type FoundTime,
  known,
  ofYear,
  type ReadingContext,
  type TimeRead,
} from "../found-time.ts";
import { type CountedUnit, countedUnits, indexOf, type Language, noLetterBefore, oneOf } from "./language.ts";
import { lazily } from "@memslot/core";
import { thirdOf } from "./pieces-of-spans.ts";
import { piecesOf } from "./pieces.ts";
import { agoDays, recentDays, sameDayAgo, unitBeside, weekdayBeside } from "./relative-times.ts";

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
  const rules = lazily(() => rulesOf(language));
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
  pattern: RegExp,
  read: (groups: Groups, context: ReadingContext, before: string) => TimeRead | undefined,
];

function rulesOf(language: Language): Rule[] {
  return [...dayRules(language), ...namedRules(language), ...relativeRules(language), ...countedRules(language)];
}

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
    [pattern(`${start}${weekday}?${day}\\.?(?:\\s+|\\s*-\\s*|(?<=\\.))${of}?${month}${year}?${end}`), readDay],
    [pattern(`${start}${weekday}?${monthFirst}${month}\\.?(?:\\s+|-)(?:the\\s+)?${day}${year}?${end}`), readDay],
    [pattern(`${start}${day}\\.?${until}${second}\\.?(?:\\s+|-|(?<=\\.))${of}?${month}${year}?${end}`), readDays],
    [pattern(`${start}${monthFirst}${month}\\.?\\s+${day}${until}${second}${year}?${end}`), readDays],
    [pattern(`${start}${month}${until}${month.replace("<m>", "<m2>")}${year}?${end}`), readMonths],
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
    const isSure = y !== undefined || name.isSure || isAnnounced.test(before);
    return read && (isSure ? read : { ...read, lone: true });
  };
  const readBeside: Rule[1] = (groups, { today }) => {
    const name = named(groups["x"]);
    return name && besideToday(name.unit, today, stepOf(groups), name.days);
  };
  return [
    [pattern(`${start}(?<x>${names})${year}?${end}(?!\\.?,?\\s*\\d{1,2}(?!\\d))`), readNamed],
    [pattern(`${start}${step.before}\\s+(?<x>${names})${end}`), readBeside],
    [pattern(`${start}(?<x>${names})\\s+${step.after}${end}`), readBeside],
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
  const readWeekday: Rule[1] = (groups, { today }) => {
    const weekday = indexOf(language.weekdays, groups["x"] ?? "");
    return weekdayBeside(weekday, stepOf(groups), today);
  };
  const readLoneWeekday: Rule[1] = ({ x = "" }, { today }, before) => {
    const read = weekdayBeside(indexOf(language.weekdays, x), -1, today);
    return read && (isAnnounced.test(before) ? read : { ...read, lone: true });
  };
  return [
    [
      pattern(`${start}(?<x>${days})${end}`),
      ({ x = "" }, { today }) => {
        const offset = Object.values(language.relativeDays)[indexOf(Object.keys(language.relativeDays), x)];
        return offset === undefined ? undefined : known("day", { from: today + offset, to: today + offset });
      },
    ],
    [
      pattern(`${start}${oneOf(language.past)}\\s+(?<u>${unit})${end}`),
      ({ u }, { today }) => recentDays(1, unitOf(u), today),
    ],
    // "Recently" may stand beside anything, "in den letzten Tagen" is a time.
    [
      pattern(`${start}(?<x>${language.lately})${end}`),
      ({ x = "" }, { today }) => {
        const read = recentDays(2, "week", today);
        return read && (x.includes(" ") ? read : { ...read, lone: true });
      },
    ],
    [
      pattern(
        `${start}${part}\\s+(?:${oneOf(language.article)}\\s+)?(?<u>${unit})${end}(?!\\s+(?:${of}|\\d|${steps}))`,
      ),
      (groups, { today }) => {
        const [now, piece] = [unitOf(groups["u"]), (["early", "middle", "late"] as const).find((name) => groups[name])];
        if (now === undefined || now === "day" || now === "weekend" || piece === undefined) return undefined;
        const span = thirdOf(unitBeside(now, 0, today)?.days(0), piece);
        return known("span", span);
      },
    ],
    [pattern(`${start}${oneOf(language.beforeLast.before)}\\s+(?<u>${unit})${end}`), readBeforeLast],
    [pattern(`${start}(?<u>${unit})\\s+${oneOf(language.beforeLast.after)}${end}`), readBeforeLast],
    [pattern(`${start}${step.before}\\s+(?<u>${unit})${end}`), readBeside],
    [pattern(`${start}(?<u>${unit})\\s+${step.after}${end}`), readBeside],
    [
      pattern(`${start}${oneOf(language.units.weekend)}${end}`),
      (_, { today }, before) => {
        const read = unitBeside("weekend", weekdayOf(today) < 5 ? -1 : 0, today);
        return read && (isAnnounced.test(before) ? read : { ...read, lone: true });
      },
    ],
    [pattern(`${start}${oneOf(language.ago.before)}\\s+${count}\\s+(?<u>${unit})${end}`), readAgo],
    [pattern(`${start}${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`), readAgo],
    [
      pattern(
        `${start}${language.countMayLack === true ? "" : "(?!)"}(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`,
      ),
      ({ u }, { today }) => agoDays(1, unitOf(u), today),
    ],
    [pattern(`${start}${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}\\s+${today}${end}`), readSameDay],
    [pattern(`${start}${today}\\s+${count}\\s+(?<u>${unit})\\s+${oneOf(language.ago.after)}${end}`), readSameDay],
    [pattern(`${start}${today}\\s+${oneOf(language.ago.before)}\\s+${count}\\s+(?<u>${unit})${end}`), readSameDay],
    [pattern(`${start}${oneOf(language.recent.before)}\\s+${count}\\s+(?<u>${unit})${end}`), readRecent],
    [pattern(`${start}${count}\\s+${oneOf(language.recent.after)}\\s+(?<u>${unit})${end}`), readRecent],
    [pattern(`${start}(?<x>${weekdays})${end}`), readLoneWeekday],
    [pattern(`${start}${step.before}\\s+(?<x>${weekdays})${end}`), readWeekday],
    [pattern(`${start}(?<x>${weekdays})\\s+${step.after}${end}`), readWeekday],
  ];
}

/** "Week 12 of 2024", "third quarter", "1990s". */
function countedRules(language: Language): Rule[] {
  const isAnnounced = announcementOf(language);
  const { start, end, year, yearFigures, ordinal } = piecesOf(language);
  const decade = language.decade.replaceAll("DECADE", "(?<y>(?:1[5-9]|20)?\\d0)");
  return [
    [
      pattern(
        `${start}(?<k>${language.weekNumber})\\s*(?:#|n[or]\\.?\\s)?\\s*(?<w>[1-9]|0[1-9]|[1-4]\\d|5[0-3])${year}?${end}`,
      ),
      ({ k = "", w, y }, _, before) => {
        const read = ofYear("week", y, (in_) => weekDays(in_, Number(w)));
        return (
          read && (y !== undefined || k.startsWith("k") || isAnnounced.test(before) ? read : { ...read, lone: true })
        );
      },
    ],
    [
      pattern(`${start}${ordinal}\\s+${oneOf(language.units.quarter)}${year}?${end}`),
      ({ o, y }) => ofYear("season", y, (in_) => quarterDays(in_, indexOf(language.ordinals, o ?? "") + 1)),
    ],
    ...yearFigures.map((figure): Rule => [
      pattern(`${start}${figure}${end}`),
      ({ y }) => known("year", yearDays(Number(y))),
    ]),
    [
      pattern(`${start}${oneOf(decade)}${end}`),
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

function nameOf(language: Language, word: string): Named | undefined {
  const month = indexOf(language.months, word);
  const isSure = indexOf([language.loneMonths], word) === 0;
  if (month >= 0) return { unit: "month", days: (year) => monthDays(year, month + 1), isSure };
  for (const [season, words] of Object.entries(language.seasons) as [Season, string][])
    if (indexOf([words], word) === 0)
      return { unit: "season", days: (year) => seasonDays(year, season), isSure: false };
  for (const [feast, words] of Object.entries(language.feasts) as [Feast, string][])
    if (indexOf([words], word) === 0)
      return { unit: isOneDay(feast) ? "day" : "span", days: (year) => feastDays(feast, year), isSure: false };
  return undefined;
}

function stepOf(groups: Groups): number {
  if (groups["bl"] !== undefined || groups["al"] !== undefined) return -1;
  return groups["bn"] !== undefined || groups["an"] !== undefined ? 1 : 0;
}

function asRange(read: TimeRead | undefined): TimeRead | undefined {
  return read && { ...read, isRange: true };
}

function joined(first: Days | undefined, last: Days | undefined): Days | undefined {
  return first && last && { from: first.from, to: last.to };
}

function pattern(source: string): RegExp {
  return namedPattern(source, "g");
}
