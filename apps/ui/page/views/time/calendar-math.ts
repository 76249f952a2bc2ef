/** A calendar day as `2026-03-05`, without a time zone. */
function dayOf(year: number, month: number, date: number): string {
  return new Date(Date.UTC(year, month, date)).toISOString().slice(0, 10);
}

export function partsOf(day: string): [year: number, month: number, date: number] {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return [year, month - 1, date];
}

/** A day this many days later, or earlier. */
export function moved(day: string, days: number): string {
  const [year, month, date] = partsOf(day);
  return dayOf(year, month, date + days);
}

/** The same day of another month; the last one of a shorter month. */
export function movedMonths(day: string, months: number): string {
  const [year, month, date] = partsOf(day);
  const last = dayOf(year, month + months + 1, 0);
  return dayOf(year, month + months, Math.min(date, partsOf(last)[2]));
}

/** The whole weeks of a year; 1 is Monday, 7 Sunday. */
export function weeksOf(year: number, firstDay: number): string[][] {
  const first = dayOf(year, 0, 1);
  const weekday = new Date(first).getUTCDay();
  const start = moved(first, -((weekday - firstDay + 7) % 7));
  const weeks = Array.from({ length: 54 }, (_, week) =>
    Array.from({ length: 7 }, (_day, index) => moved(start, week * 7 + index)),
  );
  return weeks.filter((week) => week.some((day) => partsOf(day)[0] === year));
}

/** Regions whose week begins on Saturday, and on Sunday, by Unicode CLDR 48. */
const saturday = /^(?:AF|BH|DJ|DZ|EG|IQ|IR|JO|KW|LY|OM|QA|SD|SY)$/u;
const sunday =
  /^(?:A[GS]|B[DRSTWZ]|C[AO]|D[MO]|ET|G[TU]|H[KN]|I[DLNS]|J[MP]|K[EHR]|LA|M[HMOTXZ]|N[IP]|P[AEHKRTY]|S[AGV]|T[HTW]|U[MS]|V[EI]|WS|YE|Z[AW])$/u;

/** The first day of the week of a locale. Some browsers do not have `getWeekInfo`. */
export function firstDayIn(locale: string): number {
  const known = new Intl.Locale(locale) as Intl.Locale & { getWeekInfo?: () => { firstDay: number } };
  const region = known.maximize().region ?? "";
  return known.getWeekInfo?.().firstDay ?? (saturday.test(region) ? 6 : sunday.test(region) ? 7 : 1);
}
