import { type Days, firstDay, weekdayOf } from "../calendar.ts";
import type { TimeRead, TimeUnit } from "../found-time.ts";
import type { CountedUnit } from "./language.ts";

export type Opening = "since" | "before" | "after" | "until";

/** What is on one side of a time: "since March", "before 2024". */
export function openTime<Time extends TimeRead>(time: Time, opening: Opening, today: number): Time {
  return measured(time, "span", opening !== "since", ({ from, to }) => {
    switch (opening) {
      case "since":
        return { from, to: from > today ? to : today };
      case "before":
        return { from: firstDay, to: from - 1 };
      case "after":
        return { from: to + 1, to: Math.max(to + 1, today) };
      case "until":
        return { from: firstDay, to };
    }
  });
}

/** "The week before" a time, "two weeks before" it. Without a count it is the one that touches it. */
export function distantTime<Time extends TimeRead>(
  time: Time,
  unit: CountedUnit,
  count: number | undefined,
  side: "before" | "after",
): Time {
  const away = (days: number, { from, to }: Days): number => (side === "before" ? from - days : to + days);
  const around = (day: number, reach: number): Days => ({ from: day - reach, to: day + reach });
  return measured(time, unit === "day" ? "day" : unit === "week" ? "week" : "span", false, (span) => {
    const number = count ?? 1;
    if (unit === "day") return around(away(number, span), 0);
    if (unit === "weekend") {
      const day = away(number, span);
      const saturday = side === "before" ? day - ((weekdayOf(day) + 2) % 7) : day + ((5 - weekdayOf(day) + 7) % 7);
      return { from: saturday, to: saturday + 1 };
    }
    const length = { week: 7, month: 30, quarter: 91, year: 365 }[unit];
    if (count !== undefined) return around(away(length * number, span), Math.floor(length / 2));
    return side === "before"
      ? { from: span.from - length, to: span.from - 1 }
      : { from: span.to + 1, to: span.to + length };
  });
}

function measured<Time extends TimeRead>(
  time: Time,
  unit: TimeUnit,
  isOpen: boolean,
  measure: (named: Days) => Days,
): Time {
  const days = (year: number): Days | undefined => {
    const named = time.days(year);
    return named && measure(named);
  };
  const named = { unit: time.unit, days: (year: number) => time.days(year) };
  return { ...time, unit, lone: false, isOpen, days, named };
}
