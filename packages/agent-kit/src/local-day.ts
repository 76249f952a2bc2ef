import { MemoryError } from "@memslot/core";

/** The calendar day in a time zone, as `YYYY-MM-DD`. */
export function localDay(now: Date, timeZone: string): string {
  const part = new Map(
    formatterFor(timeZone)
      .formatToParts(now)
      .map(({ type, value }) => [type, value]),
  );
  return `${part.get("year")?.padStart(4, "0")}-${part.get("month")}-${part.get("day")}`;
}

/** The day before, by the calendar: subtracting 24 hours would be wrong on days of 23 or 25. */
export function dayBefore(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1, date - 1)).toISOString().slice(0, 10);
}

function formatterFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
  } catch (error) {
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `unknown time zone "${timeZone}": use a name such as Europe/Amsterdam or UTC`,
      { cause: error },
    );
  }
}
