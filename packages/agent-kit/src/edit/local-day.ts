import { invalid } from "../state-locks.ts";

/** The calendar day in a time zone, as `YYYY-MM-DD`. */
export function localDay(now: Date, timeZone: string): string {
  return localTime(now, timeZone).day;
}

/** Throws `INVALID_ARGUMENT` for an unknown time zone and an invalid date. */
export function localTime(now: Date, timeZone: string): LocalTime {
  return localClock(timeZone)(now);
}

export interface LocalTime {
  day: string;
  time: string;
}

/** The day and time in a time zone, for many moments. Throws as `localTime` does. */
export function localClock(timeZone: string): (at: Date) => LocalTime {
  const formatter = formatterFor(timeZone);
  return (at) => {
    if (Number.isNaN(at.getTime())) throw invalid("the date is not valid");
    const part = new Map(formatter.formatToParts(at).map(({ type, value }) => [type, value]));
    return {
      day: `${part.get("year")?.padStart(4, "0")}-${part.get("month")}-${part.get("day")}`,
      time: `${part.get("hour")}:${part.get("minute")}`,
    };
  };
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
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
  } catch {
    throw invalid(`unknown time zone "${timeZone}": use a name such as Europe/Amsterdam or UTC`);
  }
}
