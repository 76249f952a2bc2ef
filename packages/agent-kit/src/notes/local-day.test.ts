import { expect, test } from "vitest";
import { dayBefore, localDay, localTime } from "./local-day.ts";

/** The moment at which the clocks of a zone with this offset show a time. */
const moment = (text: string): Date => new Date(text);

test.each([
  // Around midnight on a plain day, in the zone's own time.
  ["Asia/Shanghai", "2026-11-22T23:59:59+08:00", "2026-11-22", "23:59"],
  ["Asia/Shanghai", "2026-11-23T00:00:01+08:00", "2026-11-23", "00:00"],
  ["Pacific/Kiritimati", "2026-12-31T23:59:59+14:00", "2026-12-31", "23:59"],
  ["Pacific/Kiritimati", "2027-01-01T00:00:01+14:00", "2027-01-01", "00:00"],
  ["Pacific/Apia", "2026-02-28T23:59:59+13:00", "2026-02-28", "23:59"],
  ["Pacific/Apia", "2026-03-01T00:00:01+13:00", "2026-03-01", "00:00"],
  // The day that Samoa left out.
  ["Pacific/Apia", "2011-12-29T23:59:59-10:00", "2011-12-29", "23:59"],
  ["Pacific/Apia", "2011-12-31T00:00:01+14:00", "2011-12-31", "00:00"],
  // Days of 23 and 25 hours, at both ends.
  ["Europe/Amsterdam", "2026-03-28T23:59:59+01:00", "2026-03-28", "23:59"],
  ["Europe/Amsterdam", "2026-03-29T00:00:01+01:00", "2026-03-29", "00:00"],
  ["Europe/Amsterdam", "2026-03-29T01:59:59+01:00", "2026-03-29", "01:59"],
  ["Europe/Amsterdam", "2026-03-29T03:00:01+02:00", "2026-03-29", "03:00"],
  ["Europe/Amsterdam", "2026-03-29T23:59:59+02:00", "2026-03-29", "23:59"],
  ["Europe/Amsterdam", "2026-03-30T00:00:01+02:00", "2026-03-30", "00:00"],
  ["Europe/Amsterdam", "2026-10-25T00:00:01+02:00", "2026-10-25", "00:00"],
  ["Europe/Amsterdam", "2026-10-25T02:30:00+02:00", "2026-10-25", "02:30"],
  ["Europe/Amsterdam", "2026-10-25T02:30:00+01:00", "2026-10-25", "02:30"],
  ["Europe/Amsterdam", "2026-10-25T23:59:59+01:00", "2026-10-25", "23:59"],
  ["Europe/Amsterdam", "2026-10-26T00:00:01+01:00", "2026-10-26", "00:00"],
  ["America/New_York", "2026-03-08T00:00:01-05:00", "2026-03-08", "00:00"],
  ["America/New_York", "2026-03-08T23:59:59-04:00", "2026-03-08", "23:59"],
  ["America/New_York", "2026-03-09T00:00:01-04:00", "2026-03-09", "00:00"],
  ["America/New_York", "2026-11-01T23:59:59-05:00", "2026-11-01", "23:59"],
  ["America/New_York", "2026-11-02T00:00:01-05:00", "2026-11-02", "00:00"],
  // Years have four digits.
  ["UTC", "0999-06-01T12:00:00Z", "0999-06-01", "12:00"],
  ["UTC", "9999-12-31T23:59:59Z", "9999-12-31", "23:59"],
])("in %s it is at %s the %s, %s", (timeZone, at, day, time) => {
  expect(localTime(moment(at), timeZone)).toEqual({ day, time });
  expect(localDay(moment(at), timeZone)).toBe(day);
});

test("the day before is the calendar's, over the ends of months and years", () => {
  expect(["2026-03-01", "2028-03-01", "2027-01-01"].map(dayBefore)).toEqual(["2026-02-28", "2028-02-29", "2026-12-31"]);
});

test("a time zone that is none and a date that is none are refused", () => {
  expect(() => localDay(new Date(0), "Mars/Olympus")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => localTime(new Date("never"), "UTC")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
