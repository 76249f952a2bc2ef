import { type Days, dayNumber, localDay, monthDays, yearDays, oneDay } from "../../text/times/calendar.ts";
import { readTimes } from "../../text/times/read-times.ts";

const isoForm = /^(?<y>\d{4})(?:-(?<m>\d{1,2})(?:-(?<d>\d{1,2}))?)?$/u;
const momentForm = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?$/u;

/**
 * The days that a text names and nothing else: `2026-03-05`, `2026-03`, `2026`, a moment as ISO 8601 writes it, and whatever
 * `readTimes` reads, where a year that is not named is the last one that is not to come. Undefined for all else.
 */
export function readDays(text: string, now: Date): Days | undefined {
  const given = text.trim();
  const { y, m, d } = isoForm.exec(given)?.groups ?? {};
  if (y !== undefined) {
    if (m === undefined) return dayNumber(Number(y), 1, 1) === undefined ? undefined : yearDays(Number(y));
    if (d !== undefined) return oneDay(Number(y), Number(m), Number(d));
    return Number(m) >= 1 && Number(m) <= 12 ? monthDays(Number(y), Number(m)) : undefined;
  }
  if (momentForm.test(given)) {
    const moment = new Date(given);
    if (Number.isNaN(moment.getTime())) return undefined;
    const day = localDay(moment);
    return { from: day, to: day };
  }
  const { periods, rest } = readTimes(given, { now });
  const named = periods.filter(({ rank }) => rank === 0);
  const [period] = named;
  return named.length === 1 && period !== undefined && !/[\p{L}\p{N}]/u.test(rest) ? period : undefined;
}
