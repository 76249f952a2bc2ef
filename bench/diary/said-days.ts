/** A day, counted since 1970-01-01. */
export type Day = number;

/** A time as it is asked about: the words, the days that they mean, and the day of asking where they are counted from it. */
export interface SaidTime {
  words: string;
  since: Day;
  until: Day;
  now?: Day | undefined;
}

/** How a language names days. */
export interface DayNames {
  weekdays: readonly string[];
  /** Without a year: the latest that there is. */
  ofAnyYear: readonly Form[];
  ofYear: readonly Form[];
  /** By how many days ago it was. */
  ago: Readonly<Record<number, string>>;
  weekday: (day: Day) => string;
  /** "Last Friday" is of the calendar week before, and not only the last one before the day of asking. */
  isOfWeekBefore: boolean;
  month: Form;
  monthOfYear: Form;
  lastWeek: string;
  lastMonth: string;
}

type Form = (day: Day) => string;

const dayMs = 86_400_000;

export function iso(day: Day): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

export function dayOf(text: string): Day {
  return Date.parse(`${text}T00:00:00Z`) / dayMs;
}

/** 0 is Monday. */
export function weekdayOf(day: Day): number {
  return (((day + 3) % 7) + 7) % 7;
}

const partsOf = (day: Day): { y: string; m: number; d: number } => {
  const [y = "", m, d] = iso(day).split("-");
  return { y, m: Number(m), d: Number(d) };
};

const months = "January February March April May June July August September October November December".split(" ");
const monate = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(" ");
const month = (day: Day): string => months[partsOf(day).m - 1] ?? "";
const monat = (day: Day): string => monate[partsOf(day).m - 1] ?? "";
const ordinal = (number: number): string => {
  const ending =
    number % 10 > 3 || Math.floor(number / 10) === 1 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "");
  return `${number}${ending}`;
};
const two = (number: number): string => String(number).padStart(2, "0");
const dotted = (day: Day): string => `${two(partsOf(day).d)}.${two(partsOf(day).m)}.${partsOf(day).y}`;
const figures = ["", "一", "二", "三", "四", "五", "六", "七", "八", "九"];
const chinese = (number: number): string => {
  const tens = Math.floor(number / 10);
  return `${tens > 1 ? figures[tens] : ""}${tens > 0 ? "十" : ""}${figures[number % 10]}`;
};

const english = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");
const german = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(" ");
const week = [..."一二三四五六日"];

export const dayNames: Readonly<Record<string, DayNames>> = {
  en: {
    weekdays: english,
    ofAnyYear: [
      (day) => `on ${month(day)} ${partsOf(day).d}`,
      (day) => `on ${partsOf(day).d} ${month(day)}`,
      (day) => `on ${month(day)} ${ordinal(partsOf(day).d)}`,
      (day) => `on the ${ordinal(partsOf(day).d)} of ${month(day)}`,
      (day) => `on ${month(day).toLowerCase()} ${ordinal(partsOf(day).d)}`,
    ],
    ofYear: [
      (day) => `on ${month(day)} ${partsOf(day).d}, ${partsOf(day).y}`,
      (day) => `on ${iso(day)}`,
      (day) => `on ${partsOf(day).d} ${month(day)} ${partsOf(day).y}`,
      (day) => `on ${dotted(day)}`,
    ],
    ago: { 1: "yesterday", 2: "the day before yesterday", 3: "three days ago", 5: "five days ago" },
    weekday: (day) => `last ${english[weekdayOf(day)]}`,
    isOfWeekBefore: false,
    month: (day) => `in ${month(day)}`,
    monthOfYear: (day) => `in ${month(day)} ${partsOf(day).y}`,
    lastWeek: "last week",
    lastMonth: "last month",
  },
  de: {
    weekdays: german,
    ofAnyYear: [(day) => `am ${partsOf(day).d}. ${monat(day)}`, (day) => `am ${partsOf(day).d}.${partsOf(day).m}.`],
    ofYear: [(day) => `am ${partsOf(day).d}. ${monat(day)} ${partsOf(day).y}`, (day) => `am ${dotted(day)}`],
    ago: { 1: "gestern", 2: "vorgestern", 3: "vor drei Tagen" },
    weekday: (day) => `letzten ${german[weekdayOf(day)]}`,
    isOfWeekBefore: false,
    month: (day) => `im ${monat(day)}`,
    monthOfYear: (day) => `im ${monat(day)} ${partsOf(day).y}`,
    lastWeek: "letzte Woche",
    lastMonth: "letzten Monat",
  },
  zh: {
    weekdays: week.map((name) => `星期${name}`),
    ofAnyYear: [
      (day) => `${partsOf(day).m}月${partsOf(day).d}日`,
      (day) => `${chinese(partsOf(day).m)}月${chinese(partsOf(day).d)}号`,
    ],
    ofYear: [(day) => `${partsOf(day).y}年${partsOf(day).m}月${partsOf(day).d}日`, iso],
    ago: { 1: "昨天", 2: "前天", 3: "三天前" },
    weekday: (day) => `上周${week[weekdayOf(day)]}`,
    isOfWeekBefore: true,
    month: (day) => `${chinese(partsOf(day).m)}月`,
    monthOfYear: (day) => `${partsOf(day).y}年${partsOf(day).m}月`,
    lastWeek: "上周",
    lastMonth: "上个月",
  },
};

/** The days of a month, and the first day of the next one. */
export function monthAround(day: Day): { since: Day; until: Day } {
  const { y, m } = partsOf(day);
  return { since: Date.UTC(Number(y), m - 1, 1) / dayMs, until: Date.UTC(Number(y), m, 1) / dayMs - 1 };
}
