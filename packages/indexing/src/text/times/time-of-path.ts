import { groupsOf, namedPattern } from "./named-pattern.ts";
import { type Days, monthDays, oneDay, quarterDays, weekDays, yearDays } from "./calendar.ts";
import type { TimeUnit } from "./found-time.ts";
import { chineseNumber, figure } from "./chinese/chinese-numbers.ts";

/** Goes up when names or the dates of front matter are read otherwise: notes are indexed with the day in theirs. */
export const pathTimesVersion = 2;

/** The days that a note is of, as its name says. */
export interface NotedTime extends Days {
  unit: Extract<TimeUnit, "day" | "week" | "month" | "season" | "year">;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const monthNames =
  "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";
/** What may follow a time in a name: an ending, or a title. */
const rest = String.raw`(?:[-_ .,(（].*)?\.[^./]+$|(?:[-_ (（].*)?$`;

/** The first that matches tells. Slashes are part of some: `2026/03/05.md`. */
const names: readonly (readonly [pattern: RegExp, read: (parts: Parts) => NotedTime | undefined])[] = [
  // 2026-03-05.md, 2026-03-05-trip.md, 2026_03_05.md, 2026.03.05.md
  [pattern(String.raw`(?<y>\d{4})(?<s>[-_.])(?<m>\d{2})\k<s>(?<d>\d{2})(?!\d)[^/]*$`), dayOf],
  // 20260305.md, and the time of day behind it
  [pattern(String.raw`(?<y>(?:19|20)\d{2})(?<m>\d{2})(?<d>\d{2})(?:T?\d{4}|T?\d{6})?(?![\d])(?:${rest})`), dayOf],
  // 2026/03/05.md, 2026/2026-03/05.md, 2026/03-March/05 Thursday.md
  [pattern(String.raw`(?<y>\d{4})\/(?:\d{4}-)?(?<m>\d{2})[^/\d]*\/(?<d>\d{2})(?:${rest})`), dayOf],
  // 2026年3月5日.md, 2026年3月.md
  [pattern(String.raw`(?<y>\d{4})年(?<m>${figure})月(?<d>${figure})[日号][^/]*$`), dayOf],
  [pattern(String.raw`(?<y>\d{4})年(?<m>${figure})月(?:${rest})`), monthOfName],
  // March 5th, 2026.md, 5 March 2026.md
  [pattern(String.raw`(?<name>${monthNames}) (?<d>\d{1,2})(?:st|nd|rd|th)?,? (?<y>\d{4})(?:${rest})`), dayOf],
  [pattern(String.raw`(?<d>\d{1,2})(?:st|nd|rd|th)? (?<name>${monthNames}),? (?<y>\d{4})(?:${rest})`), dayOf],
  [pattern(String.raw`(?<name>${monthNames}) (?<y>\d{4})(?:${rest})`), monthOfName],
  // 2024-W12.md, 2024/W12.md, 2024-Q3.md
  [
    pattern(String.raw`(?<y>\d{4})[-_ /]?W(?<w>\d{1,2})(?:${rest})`),
    ({ y, w }) => noted("week", weekDays(Number(y), Number(w))),
  ],
  [
    pattern(String.raw`(?<y>\d{4})[-_ /]?Q(?<w>[1-4])(?:${rest})`),
    ({ y, w }) => noted("season", quarterDays(Number(y), Number(w))),
  ],
  // 2024-03.md, 2024/03.md, 2024_03.md
  [pattern(String.raw`(?<y>(?:19|20)\d{2})[-_/](?<m>\d{2})(?:[-_ ]\D[^/]*)?(?:\.[^./]+)?$`), monthOfName],
  [pattern(String.raw`(?<y>(?:19|20)\d{2})年?\.[^./]+$`), ({ y }) => noted("year", yearDays(Number(y)))],
];

type Parts = Readonly<Record<string, string | undefined>>;

/** The day, week, month, quarter or year in the name of a note, such as `memory/2026-03-05-trip.md`. */
export function timeOfPath(path: string): NotedTime | undefined {
  for (const [name, read] of names) {
    const parts = groupsOf(name.exec(path));
    const time = parts && read(parts);
    if (time) return time;
  }
  return undefined;
}

function dayOf(parts: Parts): NotedTime | undefined {
  return noted("day", oneDay(Number(parts["y"]), monthNumber(parts), chineseNumber(parts["d"]) ?? 0));
}

function monthOfName(parts: Parts): NotedTime | undefined {
  const month = monthNumber(parts);
  return month >= 1 && month <= 12 ? noted("month", monthDays(Number(parts["y"]), month)) : undefined;
}

function monthNumber({ m, name }: Parts): number {
  return name === undefined ? (chineseNumber(m) ?? 0) : months.indexOf(name.toLowerCase().slice(0, 3)) + 1;
}

function noted(unit: NotedTime["unit"], days: Days | undefined): NotedTime | undefined {
  return days && { ...days, unit };
}

function pattern(source: string): RegExp {
  return namedPattern(String.raw`(?:^|/)${source}`, "iu");
}
