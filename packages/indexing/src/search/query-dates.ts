/** A span of days that a query names, as day numbers since 1970-01-01, both ends inclusive. */
export interface DateHint {
  from: number;
  to: number;
  unit: "day" | "month" | "year";
}

const dayMs = 86_400_000;
const monthNames = "january february march april may june july august september october november december".split(" ");
const monthPattern =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";

const isoDay = /(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)/g;
const isoMonth = /(?<!\d)(\d{4})(?:[-/](\d{1,2})(?![-/.\d])|年(\d{1,2})月(?!\d))/g;
const dayMonth = new RegExp(
  String.raw`\b(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+(${monthPattern})\b\.?(?:,?\s+(\d{4}))?`,
  "gi",
);
const monthDay = new RegExp(
  String.raw`\b(${monthPattern})\b\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(\d{4}))?`,
  "gi",
);
const monthYear = new RegExp(String.raw`\b(${monthPattern})\b\.?,?\s+(?:of\s+)?(\d{4})\b`, "gi");
const monthAlone = new RegExp(
  String.raw`\b(?:in|during|last|this|since|until|by|of|early|late|mid)\s+(${monthPattern})\b(?!\s*\.?,?\s*\d)`,
  "gi",
);
const chineseMonthDay = /(?<![\d年])(\d{1,2})月(\d{1,2})[日号]/g;
const chineseMonth = /(?<![\d年])(\d{1,2})月(?!\d)/g;
const yearAlone = /(?<![\d-])((?:19|20)\d{2})(?:年(?!\d)|\b(?![-/.]\d))/g;

/**
 * The dates that a query names: days, months and years, in ISO form, English and Chinese, and "yesterday" and its like
 * counted from `now`. A date without a year means the last such date up to `now` and every year before it is ignored.
 */
export function dateHints(query: string, now: Date): DateHint[] {
  const hints: DateHint[] = [];
  let rest = query;
  const take = (pattern: RegExp, read: (groups: string[]) => DateHint | undefined): void => {
    rest = rest.replaceAll(pattern, (whole: string, ...groups: unknown[]) => {
      const hint = read(groups.map((group) => (typeof group === "string" ? group : "")));
      if (hint) hints.push(hint);
      return hint ? " ".repeat(whole.length) : whole;
    });
  };
  take(isoDay, ([year, month, day]) => dayHint(year, month, day));
  take(isoMonth, ([year, month, chineseMonthOf]) => monthHint(year, month || chineseMonthOf));
  take(dayMonth, ([day, month, year]) => dayHint(year || yearBefore(now, month, day), monthNumber(month), day));
  take(monthDay, ([month, day, year]) => dayHint(year || yearBefore(now, month, day), monthNumber(month), day));
  take(monthYear, ([month, year]) => monthHint(year, monthNumber(month)));
  take(monthAlone, ([month]) => monthHint(yearBefore(now, month), monthNumber(month)));
  take(chineseMonthDay, ([month, day]) => dayHint(yearBefore(now, month, day), month, day));
  take(chineseMonth, ([month]) => monthHint(yearBefore(now, month), month));
  take(yearAlone, ([year]) => ({
    from: dayNumber(Number(year), 1, 1),
    to: dayNumber(Number(year), 12, 31),
    unit: "year",
  }));
  hints.push(...relativeHints(rest, now));
  return hints;
}

/** The day in a path such as `memory/2026-03-05-trip.md`, as a day number. */
export function dateOfPath(path: string): number | undefined {
  const match = /(?:^|\/)(\d{4})-(\d{2})-(\d{2})[^/]*$/.exec(path);
  return match ? dayHint(match[1], match[2], match[3])?.from : undefined;
}

/** A day number as `2026-03-05`. */
export function isoDate(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/**
 * How well a day fits the hints, 0 to 1: 1 inside a span; up to 0.6 in the days after it, since things are written
 * down after they happen, falling to nothing within 7 days of a named day and 14 of a month or year; 0.2 in as many
 * days before it.
 */
export function dateMatch(day: number | undefined, hints: readonly DateHint[]): number {
  if (day === undefined) return 0;
  let best = 0;
  for (const hint of hints) {
    const reach = hint.unit === "day" ? 7 : 14;
    let match = 0;
    if (day >= hint.from && day <= hint.to) match = 1;
    else if (day > hint.to && day <= hint.to + reach) match = 0.6 * (1 - (day - hint.to) / (reach + 1));
    else if (day < hint.from && day >= hint.from - reach) match = 0.2;
    if (match > best) best = match;
  }
  return best;
}

const relativeDays: readonly [RegExp, number, number][] = [
  [/\btoday\b|今天|今日/i, 0, 0],
  [/\byesterday\b|昨天|昨日/i, 1, 1],
  [/前天/, 2, 2],
  [/\bthis week\b|这周|本周|这个星期/i, 0, 6],
  [/\blast week\b|上周|上个星期|上星期/i, 1, 13],
  [/\bthis month\b|这个月|本月/i, 0, 30],
  [/\blast month\b|上个月|上月/i, 14, 61],
];

function relativeHints(query: string, now: Date): DateHint[] {
  const today = dayNumber(now.getFullYear(), now.getMonth() + 1, now.getDate());
  return relativeDays
    .filter(([pattern]) => pattern.test(query))
    .map(([, newest, oldest]) => ({
      from: today - oldest,
      to: today - newest,
      unit: "day" as const,
    }));
}

function monthNumber(name = ""): string {
  const lower = name.toLowerCase().slice(0, 3);
  return String(monthNames.findIndex((month) => month.startsWith(lower)) + 1);
}

/** The year of the last such month or day that is not after `now`. */
function yearBefore(now: Date, month = "", day?: string): string {
  const number = /^\d/.test(month) ? Number(month) : Number(monthNumber(month));
  const later = number > now.getMonth() + 1 || (number === now.getMonth() + 1 && Number(day ?? 0) > now.getDate());
  return String(now.getFullYear() - (later ? 1 : 0));
}

function dayHint(year = "", month = "", day = ""): DateHint | undefined {
  const [monthValue, dayValue] = [Number(month), Number(day)];
  const from = dayNumber(Number(year), monthValue, dayValue);
  // A day that does not exist, such as the 31st of February, would be counted on into the next month.
  const real = new Date(from * dayMs);
  if (real.getUTCMonth() + 1 !== monthValue || real.getUTCDate() !== dayValue) return undefined;
  return { from, to: from, unit: "day" };
}

function monthHint(year = "", month = ""): DateHint | undefined {
  const value = Number(month);
  if (value < 1 || value > 12) return undefined;
  return {
    from: dayNumber(Number(year), value, 1),
    to: dayNumber(Number(year), value + 1, 1) - 1,
    unit: "month",
  };
}

function dayNumber(year: number, month: number, day: number): number {
  return Math.floor(Date.UTC(year, month - 1, day) / dayMs);
}
