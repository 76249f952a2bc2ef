import { lazily } from "@memslot/core";
import { zh } from "../languages/files.ts";
import {
  type Days,
  type Holiday,
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
import { chineseNumber, figure, type Groups, namedPattern, yearFigure } from "./patterns.ts";

const chinese = "chinese";

const vocabulary = zh.chineseDates;

/** How many years from this one, and how many days from today. */
const years: Readonly<Record<string, number>> = vocabulary.years;
const days: Readonly<Record<string, number>> = vocabulary.days;
const seasons = vocabulary.seasons as Readonly<Record<string, Season>>;
const holidays = vocabulary.holidays as Readonly<Record<string, Holiday>>;
const units = vocabulary.units as Readonly<Record<string, CountedUnit>>;

const month = `(?<![\\d〇零一二三四五六七八九十两个])(?<m>${figure})月(?:份)?`;
const year = `(?:(?:(?<y>${yearFigure})年|(?<ry>大前年|前年|去年|今年|明年))(?:的)?)`;
/** 2013年8月中国 is no middle of a month: what follows is no part of a name. */
const pieceEnd = "(?=$|[^\\u4e00-\\u9fff]|[的是在我你他她有了做去到至和与那这发写干之以前后])";
const part = `(?<part>年?[初中底末]${pieceEnd}|上旬|中旬|下旬|上半年|下半年)`;
const step = "(?<step>上上个?|上一?个?|前一个?|这一?个?|本|下下个?|下个?)";
const unit = "(?<u>周末|星期|礼拜|周|季度|个?月|年|天|日)";
/** Where a name such as 夏天 alone may be anything, these words say that it is a time. */
const timeSaid = "(?=那天|期间|的时候|时|当天|前后)";

/** Times in Chinese, which has no spaces between words: 五月六号, 去年夏天, 上周三, 2024年第一周. */
export function chineseTimes(text: string, context: ReadingContext): FoundTime[] {
  if (!/[\u4e00-\u9fff]/.test(text)) return [];
  return rules().flatMap(([pattern, read]) =>
    findAll(text, pattern, chinese, (groups) => opened(groups, read(groups, context), context)),
  );
}

type Rule = readonly [pattern: RegExp, read: (groups: Groups, context: ReadingContext) => TimeRead | undefined];

const openness =
  "(?:(?<since>以来|至今|起(?!来|床|点))|(?<before>[之以]前|前(?![后天年几半往]))|(?<after>[之以]后|后(?![天年来])))?";

const rules = lazily((): Rule[] => [...calendarRules(), ...relativeRules()]);

/** Days, months, seasons and years with their numbers: 五月六号, 2024年夏天. */
const calendarRules = (): Rule[] => [
  rule(`${year}?${month}(?<d>${figure})(?:[日号]|(?![\\d点个次年月天]))(?![\\d])`, ({ y, ry, m, d }, { today }) => {
    const [inMonth, day] = [chineseNumber(m), chineseNumber(d)];
    return d !== undefined && /\d$/.test(d) && y === undefined && ry === undefined && inMonth === undefined
      ? undefined
      : dayOf(
          inYear("day", { y, ry }, today, (of) => oneDay(of, inMonth ?? 0, day ?? 0)),
          inMonth ?? 0,
          day ?? 0,
        );
  }),
  rule(
    `${year}?${month}(?<d>${figure})[日号]?(?:到|至|-)(?:(?<m2>${figure})月)?(?<d2>${figure})[日号]`,
    ({ y, ry, m, d, m2 = m, d2 }, { today }) =>
      inYear("span", { y, ry }, today, (of) => {
        const from = oneDay(of, chineseNumber(m) ?? 0, chineseNumber(d) ?? 0);
        return joined(from, oneDay(of, chineseNumber(m2) ?? 0, chineseNumber(d2) ?? 0));
      }),
  ),
  rule(`${year}?${month}(?!\\d)${part}?(?!天)`, ({ y, ry, m, part: piece }, { today }) => {
    const number = chineseNumber(m) ?? 0;
    if (number < 1 || number > 12) return undefined;
    return inYear(piece === undefined ? "month" : "span", { y, ry }, today, (of) =>
      pieceOf(monthDays(of, number), piece),
    );
  }),
  rule(`${year}?${month}(?:到|至|-)(?<m2>${figure})月(?:份)?`, ({ y, ry, m, m2 }, { today }) =>
    inYear("span", { y, ry }, today, (of) =>
      joined(monthDays(of, chineseNumber(m) ?? 0), monthDays(of, chineseNumber(m2) ?? 0)),
    ),
  ),
  rule(`(?:(?<y>${yearFigure})年(?!\\d)|(?<ry>大前年|前年|去年|今年|明年))(?:的?${part})?`, (groups, { today }) =>
    inYear(groups["part"] === undefined ? "year" : "span", groups, today, (of) =>
      pieceOf(yearDays(of), groups["part"]),
    ),
  ),
  rule(`(?<y>${yearFigure})年?(?:到|至|-)(?<y2>${yearFigure})年`, ({ y, y2 }) => {
    const [first, last] = [chineseNumber(y) ?? 0, chineseNumber(y2) ?? 0];
    return first < last ? known("span", yearDays(first, last - first + 1)) : undefined;
  }),
  rule(`(?<y>${yearFigure})-(?<z>\\d\\d)年`, ({ y, z }) => {
    const first = chineseNumber(y) ?? 0;
    return Number(z) === (first + 1) % 100 ? known("span", yearDays(first, 2)) : undefined;
  }),
  rule(
    `(?<![\\d一二三四五六七八九十个去今明前上下这整半])(?<u>[月年])(?<piece>[初中底末])${pieceEnd}`,
    ({ u, piece }, { today }) =>
      known("span", pieceOf(unitBeside(u === "月" ? "month" : "year", 0, today)?.days(0), piece)),
  ),
  rule("最近", (_, { today }) => loneUnless(false, recentDays(2, "week", today))),
  rule(`(?<half>[上下])半年`, ({ half }, { today }) =>
    known("span", halfOf(yearDays(yearOf(today)), half === "上" ? 1 : 2)),
  ),
  rule(
    `${year}?(?:(?<this>这个)|(?<=在))?(?<s>[春夏秋冬])(?:天|季|日)(?:(?<said>${timeSaid}))?(?<part>[初末])?`,
    (groups, { today }) => readSeason(groups, today),
  ),
  rule(`${year}的?(?<s>[春夏秋冬])(?<part>[初末])?`, (groups, { today }) => readSeason(groups, today)),
  rule(`(?<f>${longestFirst(holidays)})(?<said>${timeSaid})?`, (groups, { today }) => readHoliday(groups, today)),
  rule(`${year}(?<f>${longestFirst(holidays)})`, (groups, { today }) => readHoliday(groups, today)),
];

/** What is said from today, and what is counted: 上周三, 三周前, 2024年第一周. */
const relativeRules = (): Rule[] => [
  rule(`(?<x>${longestFirst(days)})(?:晚上|早上|上午|下午|中午|夜里)?`, ({ x = "" }, { today }) => {
    const day = today + (days[x] ?? 0);
    return known("day", { from: day, to: day });
  }),
  rule(`${step}${unit}(?:(?<part>[初中底末])${pieceEnd})?`, ({ step: word, u = "", part: piece }, { today }) => {
    const read = unitBeside(unitOf(u), stepOf(word), today);
    if (piece === undefined) return read;
    return unitOf(u) === "month" ? known("span", pieceOf(read?.days(0), piece)) : undefined;
  }),
  rule(
    `(?<![每逢下])${step}?(?:周|星期|礼拜)(?<wd>[一二三四五六日天])(?!期|个)(?:晚上|早上|上午|下午|中午|夜里)?`,
    ({ step: word, wd = "" }, { today }) => {
      const weekday = "一二三四五六日".indexOf(wd === "天" ? "日" : wd);
      if (word === undefined) return weekdayBeside(weekday, -1, today);
      const day = weekAround(today + 7 * stepOf(word)).from + weekday;
      return known("day", { from: day, to: day });
    },
  ),
  rule(`(?<![每逢一二三四五六七八九十\\d])周末`, (_, { today }) => {
    const saturday = weekAround(today).from + 5;
    return unitBeside("weekend", saturday <= today ? 0 : -1, today);
  }),
  rule(`${year}?第(?<n>${figure})个?(?:周|星期|礼拜)(?![一二三四五六日天末])`, (groups, { today }) => {
    const read = inYear("week", groups, today, (of) => weekDays(of, chineseNumber(groups["n"]) ?? 0));
    return loneUnless(read?.hasYear === true, read);
  }),
  rule(
    `(?:${year}?${month}|${year})的?(?<o>第${figure}|最后一|首)个?(?<u>周末|周|星期|礼拜|天)`,
    (groups, { today }) => {
      const { o = "", m, u = "" } = groups;
      const number = o === "最后一" ? 0 : o === "首" ? 1 : (chineseNumber(o.slice(1)) ?? 0);
      const within = (of: number): Days | undefined =>
        m === undefined ? yearDays(of) : monthDays(of, chineseNumber(m) ?? 0);
      const of = unitOf(u) ?? "day";
      if (of === "week" && m === undefined && number > 0) return undefined;
      const counted = of === "weekend" || of === "week" ? of : "day";
      const unitOfTime = counted === "weekend" ? "span" : counted;
      return inYear(unitOfTime, groups, today, (year_) => nthWithin(within(year_), number, counted));
    },
  ),
  rule(`${year}?第?(?<q>[一二三四1-4])季度`, (groups, { today }) =>
    inYear("season", groups, today, (of) => quarterDays(of, chineseNumber(groups["q"]) ?? 0)),
  ),
  rule(
    `(?<![哪每第])(?<n>半|几|${figure}|(?<!\\d)\\d{1,3})个?(?<u>周|星期|礼拜|月|年|天|日)(?:之|以)?前(?![后天往])`,
    ({ n, u = "" }, { today }) =>
      n === "半" ? agoDays(6, u === "年" ? "month" : undefined, today) : agoDays(countOf(n), unitOf(u), today),
  ),
  rule(`前[几两](?<u>天|周|个月|年)`, ({ u = "" }, { today }) => agoDays(0, unitOf(u), today)),
  rule(
    `(?:最近|过去|这)(?:的)?(?<n>几|${figure}|\\d{1,3})个?(?<u>周|星期|礼拜|月|年|天|日)`,
    ({ n, u = "" }, { today }) => recentDays(countOf(n), unitOf(u), today),
  ),
  rule(`(?<![\\d])(?<y>(?:19|20)?\\d0)年代`, ({ y = "" }) =>
    known("span", yearDays(y.length === 4 ? Number(y) : 1900 + Number(y), 10)),
  ),
];

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

function readSeason(groups: Groups, today: number): TimeRead | undefined {
  const season = seasons[groups["s"] ?? ""];
  if (!season) return undefined;
  const piece = groups["part"];
  const read = inYear(piece === undefined ? "season" : "span", groups, today, (of) =>
    pieceOf(seasonDays(of, season), piece),
  );
  const isTime = read?.hasYear === true || groups["this"] !== undefined || groups["said"] !== undefined;
  return loneUnless(isTime, read);
}

function readHoliday(groups: Groups, today: number): TimeRead | undefined {
  const holiday = holidays[groups["f"] ?? ""];
  if (!holiday) return undefined;
  const read = inYear(isOneDay(holiday) ? "day" : "span", groups, today, (of) => holidayDays(holiday, of));
  return loneUnless(read?.hasYear === true || groups["said"] !== undefined, read);
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

/** Words as the inside of a group, so that none hides a longer one. */
function longestFirst(words: Readonly<Record<string, unknown>>): string {
  return Object.keys(words)
    .toSorted((a, b) => b.length - a.length)
    .join("|");
}

function rule(pattern: string, read: Rule[1]): Rule {
  return [namedPattern(`(?<sinceToo>自从?)?(?:${pattern})${openness}`, "g"), read];
}
