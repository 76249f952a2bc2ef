import { monthDays, monthOf, weekAround, weekdayOf, yearDays, yearOf } from "../calendar.ts";
import { known, type TimeRead } from "../found-time.ts";
import type { CountedUnit } from "./language.ts";

/** The week, month, quarter or year that is `step` after the one of today. */
export function unitBeside(unit: CountedUnit | undefined, step: number, today: number): TimeRead | undefined {
  const [year, month] = [yearOf(today), monthOf(today)];
  switch (unit) {
    case "week":
      return known("week", weekAround(today + 7 * step));
    case "weekend": {
      const saturday = weekAround(today).from + 5 + 7 * step;
      return known("span", { from: saturday, to: saturday + 1 });
    }
    case "month":
      return known("month", monthDays(year, month + step));
    case "quarter":
      return known("season", monthDays(year, 3 * (Math.ceil(month / 3) + step) - 2, 3));
    case "year":
      return known("year", yearDays(year + step));
    default:
      return undefined;
  }
}

/**
 * "Three weeks ago": a day, the days around one, a month or a year, as exactly as people mean it. A count of 0 is
 * "a few".
 */
export function agoDays(count: number | undefined, unit: CountedUnit | undefined, today: number): TimeRead | undefined {
  if (count === undefined || count < 0 || count > 300) return undefined;
  if (count === 0) return recentDays(6, unit, today - (unit === "day" ? 2 : 0));
  switch (unit) {
    case "day":
      return known("day", { from: today - count, to: today - count });
    case "week":
      return known("week", { from: today - 7 * count - 3, to: today - 7 * count + 3 });
    case undefined:
      return undefined;
    default:
      return unitBeside(unit, -count, today);
  }
}

/** "A year ago today": the day of the same date, or of the same day of the week. */
export function sameDayAgo(
  count: number | undefined,
  unit: CountedUnit | undefined,
  today: number,
): TimeRead | undefined {
  if (count === undefined || count < 1 || count > 300) return undefined;
  if (unit === "day" || unit === "week") {
    const day = today - count * (unit === "week" ? 7 : 1);
    return known("day", { from: day, to: day });
  }
  if (unit !== "month" && unit !== "year") return undefined;
  const [year, month] =
    unit === "year" ? [yearOf(today) - count, monthOf(today)] : [yearOf(today), monthOf(today) - count];
  const [then, now] = [monthDays(year, month), monthDays(yearOf(today), monthOf(today))];
  if (then === undefined || now === undefined) return undefined;
  const day = Math.min(then.to, then.from + today - now.from);
  return known("day", { from: day, to: day });
}

/** "The last three weeks": up to today. A count of 0 is "a few". */
export function recentDays(
  count: number | undefined,
  unit: CountedUnit | undefined,
  today: number,
): TimeRead | undefined {
  if (count === undefined || count < 0 || count > 300) return undefined;
  const number = count === 0 ? 5 : count;
  const [year, month] = [yearOf(today), monthOf(today)];
  switch (unit) {
    case "day":
      return known("span", { from: today - number, to: today });
    case "week":
      return known("span", { from: today - 7 * number, to: today });
    case "weekend": {
      const saturday = weekAround(today).from + 5;
      return known("span", { from: saturday - 7 * number, to: saturday - 6 });
    }
    case "month":
    case "quarter":
    case "year": {
      const months = number * { month: 1, quarter: 3, year: 12 }[unit];
      const from = monthDays(year, month - months)?.from;
      if (from === undefined) return undefined;
      const dayOfMonth = today - (monthDays(year, month)?.from ?? today);
      return known("span", { from: from + dayOfMonth, to: today });
    }
    case undefined:
      return undefined;
  }
}

/** The last such day before today, the next one after it, or the one of this week. */
export function weekdayBeside(weekday: number, step: number, today: number): TimeRead | undefined {
  if (weekday < 0) return undefined;
  const inWeek = weekAround(today).from + weekday;
  const past = today - (((weekdayOf(today) - weekday + 6) % 7) + 1);
  const day = step === 0 ? inWeek : step < 0 ? past : past + (inWeek === today ? 14 : 7);
  const read = known("day", { from: day, to: day });
  return read && { ...read, weekday };
}
