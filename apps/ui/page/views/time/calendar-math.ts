/** A calendar day as `2026-03-05`, without a time zone. */
export function dayOf(year: number, month: number, day: number): string {
  return new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);
}

export function partsOf(day: string): { year: number; month: number; date: number } {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return { year, month: month - 1, date };
}

/** A day this many days later, or earlier. */
export function moved(day: string, days: number): string {
  const { year, month, date } = partsOf(day);
  return dayOf(year, month, date + days);
}

/** The whole weeks of a month; 1 is Monday, 7 Sunday. */
export function weeksOf(year: number, month: number, firstDay: number): string[][] {
  const first = dayOf(year, month, 1);
  const weekday = new Date(`${first}T00:00:00Z`).getUTCDay() || 7;
  let day = moved(first, -((weekday - firstDay + 7) % 7));
  const weeks: string[][] = [];
  while (weeks.length === 0 || (partsOf(day).month === month && partsOf(day).year === year)) {
    weeks.push(Array.from({ length: 7 }, (_, index) => moved(day, index)));
    day = moved(day, 7);
  }
  return weeks;
}

/** The first day of the week for a locale. */
export function firstDayIn(locale: string): number {
  const found = new Intl.Locale(locale) as Intl.Locale & { getWeekInfo?: () => { firstDay: number } };
  return found.getWeekInfo?.().firstDay ?? 1;
}
