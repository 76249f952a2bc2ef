import { type Days, dayNumber, easterDay, weekdayOf } from "./calendar.ts";

/** Feasts that people date by. Those of the moon, other than Easter, are not counted. */
export type Feast =
  | "christmas"
  | "christmasEve"
  | "christmasDay"
  | "newYear"
  | "newYearsEve"
  | "easter"
  | "halloween"
  | "valentine"
  | "thanksgiving"
  | "labourDay"
  | "chineseNationalDay";

const fixed: Partial<Record<Feast, readonly [month: number, day: number, days: number]>> = {
  christmas: [12, 24, 3],
  christmasEve: [12, 24, 1],
  christmasDay: [12, 25, 1],
  newYear: [1, 1, 1],
  newYearsEve: [12, 31, 1],
  halloween: [10, 31, 1],
  valentine: [2, 14, 1],
  labourDay: [5, 1, 1],
  chineseNationalDay: [10, 1, 7],
};

export function feastDays(feast: Feast, year: number): Days | undefined {
  const [month, day, count] = fixed[feast] ?? [];
  if (month !== undefined && day !== undefined) return spanFrom(dayNumber(year, month, day), count);
  if (feast === "easter") return spanFrom(easterDay(year), 4, -2);
  const first = dayNumber(year, 11, 1);
  // The fourth Thursday of November.
  return first === undefined ? undefined : spanFrom(first + ((3 - weekdayOf(first) + 7) % 7) + 21, 1);
}

/** Whether it is one day. */
export function isOneDay(feast: Feast): boolean {
  return feast === "thanksgiving" || fixed[feast]?.[2] === 1;
}

function spanFrom(day: number | undefined, count = 1, shift = 0): Days | undefined {
  return day === undefined ? undefined : { from: day + shift, to: day + shift + count - 1 };
}
