import { lazily } from "@memslot/core/host";
import zh from "../languages/zh.json" with { type: "json" };
import {
  type Days,
  holidayDays,
  isOneDay,
  joined,
  monthDays,
  nthWithin,
  oneDay,
  type Part,
  quarterDays,
  type Season,
  seasonDays,
  thirdOf,
  weekAround,
  weekDays,
  yearDays,
  yearOf,
} from "./calendar.ts";
import {
  agoDays,
  dayOf,
  findAll,
  type FoundTime,
  known,
  loneUnless,
  ofYear,
  openTime,
  type ReadingContext,
  recentDays,
  type TimeRead,
  unitBeside,
  weekdayBeside,
} from "./found-time.ts";
import type { CountedUnit } from "./language.ts";
import { chineseNumber, type Groups, patternsOf } from "./grammar.ts";

/** Times in Chinese, which has no spaces between words: 五月六号, 去年夏天, 上周三, 2024年第一周. */
export function chineseTimes(text: string, context: ReadingContext): FoundTime[] {
  if (!/[\u4e00-\u9fff]/.test(text)) return [];
  return forms().flatMap(([pattern, kind]) =>
    findAll(text, pattern, "chinese", (groups) => opened(groups, readers[kind]?.(groups, context), context)),
  );
}

const vocabulary = zh.chineseDates;
const years: Readonly<Record<string, number>> = vocabulary.years;
const days: Readonly<Record<string, number>> = vocabulary.days;
const seasons = vocabulary.seasons as Readonly<Record<string, Season>>;
const holidays: Readonly<Record<string, string>> = vocabulary.holidays;
const units = vocabulary.units as Readonly<Record<string, CountedUnit>>;

const forms = lazily(() => patternsOf("chinese", "g", { days: longestFirst(days), holidays: longestFirst(holidays) }));

type Reader = (groups: Groups, context: ReadingContext) => TimeRead | undefined;

const readers: Readonly<Record<string, Reader>> = {
  day(groups, { today }) {
    const { y, ry, d } = groups;
    const [month, day] = [chineseNumber(groups["m"]), chineseNumber(d)];
    if (d !== undefined && /\d$/.test(d) && y === undefined && ry === undefined && month === undefined)
      return undefined;
    return dayOf(
      inYear("day", groups, today, (of) => oneDay(of, month ?? 0, day ?? 0)),
      month ?? 0,
      day ?? 0,
    );
  },

  days(groups, { today }) {
    const { m, d, m2 = m, d2 } = groups;
    return inYear("span", groups, today, (of) => {
      const from = oneDay(of, numberOf(m), numberOf(d));
      return joined(from, oneDay(of, numberOf(m2), numberOf(d2)));
    });
  },

  month(groups, { today }) {
    const [number, piece] = [numberOf(groups["m"]), groups["part"]];
    if (number < 1 || number > 12) return undefined;
    return inYear(piece === undefined ? "month" : "span", groups, today, (of) => pieceOf(monthDays(of, number), piece));
  },

  months(groups, { today }) {
    const [first, last] = [numberOf(groups["m"]), numberOf(groups["m2"])];
    return inYear("span", groups, today, (of) => joined(monthDays(of, first), monthDays(of, last)));
  },

  year(groups, { today }) {
    const piece = groups["part"];
    return inYear(piece === undefined ? "year" : "span", groups, today, (of) => pieceOf(yearDays(of), piece));
  },

  years({ y, y2 }) {
    const [first, last] = [numberOf(y), numberOf(y2)];
    return first < last ? known("span", yearDays(first, last - first + 1)) : undefined;
  },

  twoYears({ y, z }) {
    const first = numberOf(y);
    return Number(z) === (first + 1) % 100 ? known("span", yearDays(first, 2)) : undefined;
  },

  part: ({ u, part }, { today }) =>
    known("span", pieceOf(unitBeside(u === "月" ? "month" : "year", 0, today)?.days(0), part)),
  lately: (_, { today }) => loneUnless(false, recentDays(2, "week", today)),
  half: ({ half }, { today }) => known("span", halfOf(yearDays(yearOf(today)), half === "上" ? 1 : 2)),

  season(groups, { today }) {
    const season = seasons[groups["s"] ?? ""];
    if (!season) return undefined;
    const piece = groups["part"];
    const read = inYear(piece === undefined ? "season" : "span", groups, today, (of) =>
      pieceOf(seasonDays(of, season), piece),
    );
    const isTime = read?.hasYear === true || groups["this"] !== undefined || groups["said"] !== undefined;
    return loneUnless(isTime, read);
  },

  holiday(groups, { today }) {
    const holiday = holidays[groups["f"] ?? ""];
    if (!holiday) return undefined;
    const read = inYear(isOneDay(holiday) ? "day" : "span", groups, today, (of) => holidayDays(holiday, of));
    return loneUnless(read?.hasYear === true || groups["said"] !== undefined, read);
  },

  relativeDay({ x = "" }, { today }) {
    const day = today + (days[x] ?? 0);
    return known("day", { from: day, to: day });
  },

  unitBeside({ step, u = "", part }, { today }) {
    const read = unitBeside(unitOf(u), stepOf(step), today);
    if (part === undefined) return read;
    return unitOf(u) === "month" ? known("span", pieceOf(read?.days(0), part)) : undefined;
  },

  weekday({ step, wd = "" }, { today }) {
    const weekday = "一二三四五六日".indexOf(wd === "天" ? "日" : wd);
    if (step === undefined) return weekdayBeside(weekday, -1, today);
    const day = weekAround(today + 7 * stepOf(step)).from + weekday;
    return known("day", { from: day, to: day });
  },

  weekend: (_, { today }) => unitBeside("weekend", weekAround(today).from + 5 <= today ? 0 : -1, today),

  week(groups, { today }) {
    const read = inYear("week", groups, today, (of) => weekDays(of, numberOf(groups["n"])));
    return loneUnless(read?.hasYear === true, read);
  },

  counted(groups, { today }) {
    const { o = "", m, u = "" } = groups;
    const number = o === "最后一" ? 0 : o === "首" ? 1 : numberOf(o.slice(1));
    const unit = unitOf(u) ?? "day";
    if (unit === "week" && m === undefined && number > 0) return undefined;
    const counted = unit === "weekend" || unit === "week" ? unit : "day";
    return inYear(counted === "weekend" ? "span" : counted, groups, today, (of) =>
      nthWithin(m === undefined ? yearDays(of) : monthDays(of, numberOf(m)), number, counted),
    );
  },

  quarter: (groups, { today }) => inYear("season", groups, today, (of) => quarterDays(of, numberOf(groups["q"]))),
  ago: ({ n, u = "" }, { today }) =>
    n === "半" ? agoDays(6, u === "年" ? "month" : undefined, today) : agoDays(countOf(n), unitOf(u), today),
  fewAgo: ({ u = "" }, { today }) => agoDays(0, unitOf(u), today),
  recent: ({ n, u = "" }, { today }) => recentDays(countOf(n), unitOf(u), today),
  decade: ({ y = "" }) => known("span", yearDays(y.length === 4 ? Number(y) : 1900 + Number(y), 10)),
};

/** 以来, 之前, 以后 after a time, and 自 before it. */
function opened(
  { since, sinceToo, before, after }: Groups,
  read: TimeRead | undefined,
  { today }: ReadingContext,
): TimeRead | undefined {
  if (!read) return undefined;
  const opening = before ? "before" : after ? "after" : since || sinceToo ? "since" : undefined;
  return opening ? openTime(read, opening, today) : read;
}

function inYear(
  unit_: FoundTime["unit"],
  { y, ry }: Groups,
  today: number,
  daysOf: (year: number) => Days | undefined,
): TimeRead | undefined {
  if (ry !== undefined) return known(unit_, daysOf(yearOf(today) + (years[ry] ?? 0)));
  return ofYear(unit_, y === undefined ? undefined : chineseNumber(y), daysOf);
}

function pieceOf(span: Days | undefined, word: string | undefined): Days | undefined {
  if (word === undefined) return span;
  if (word.endsWith("半年")) return halfOf(span, word.startsWith("上") ? 1 : 2);
  const piece: Part = /[初上]/.test(word) ? "early" : /中/.test(word) ? "middle" : "late";
  return thirdOf(span, piece);
}

function halfOf(span: Days | undefined, half: 1 | 2): Days | undefined {
  if (!span) return undefined;
  const july = monthDays(yearOf(span.from), 7);
  return july && (half === 1 ? { from: span.from, to: july.from - 1 } : { from: july.from, to: span.to });
}

function unitOf(word: string): CountedUnit | undefined {
  return units[word.replace(/^个/, "")];
}

function stepOf(word = ""): number {
  if (word.startsWith("上上")) return -2;
  if (word.startsWith("下下")) return 2;
  return /^[上前]/.test(word) ? -1 : word.startsWith("下") ? 1 : 0;
}

function countOf(word = ""): number | undefined {
  return word === "几" ? 0 : chineseNumber(word);
}

function longestFirst(words: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(words).toSorted((a, b) => b.length - a.length);
}

function numberOf(word: string | undefined): number {
  return chineseNumber(word) ?? 0;
}
