import firstDays from "./first-days.json" with { type: "json" };

const dayMs = 24 * 60 * 60 * 1000;

/** A calendar day as `2026-03-05`, without a time zone. */
function dayOf(time: Date | number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** A day this many days later, or earlier. */
export function moved(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * dayMs);
}

/** The same day of another month; the last one of a shorter month. */
export function movedMonths(day: string, months: number): string {
  const to = new Date(day);
  to.setUTCMonth(to.getUTCMonth() + months);
  if (to.getUTCDate() !== Number(day.slice(8))) to.setUTCDate(0);
  return dayOf(to);
}

/** The whole weeks of a year; 1 is Monday, 7 Sunday. */
export function weeksOf(year: string, firstDay: number): string[][] {
  const first = `${year}-01-01`;
  const before = (new Date(first).getUTCDay() - firstDay + 7) % 7;
  const weeks = Array.from({ length: 54 }, (_, week) =>
    Array.from({ length: 7 }, (_day, index) => moved(first, week * 7 + index - before)),
  );
  return weeks.filter((week) => week.some((day) => day.startsWith(year)));
}

/**
 * The first day of the week of a locale. For browsers without `getWeekInfo`: regions whose week does not begin on Monday,
 * by Unicode CLDR 48.
 */
export function firstDayIn(locale: string): number {
  const known = new Intl.Locale(locale) as Intl.Locale & { getWeekInfo?: () => { firstDay: number } };
  const region = known.maximize().region ?? "";
  return known.getWeekInfo?.().firstDay ?? (firstDays as Record<string, number>)[region] ?? 1;
}
