import { readFileSync } from "node:fs";
import { isoDate } from "../calendar.ts";
import { readTimes, type TimeReading } from "../read-times.ts";

/** Sunday. */
export const now: Date = new Date(2026, 2, 15, 12);

/** The lines of a table beside this file, without those that are empty or a remark. */
export function table(name: string): string[][] {
  return readFileSync(new URL(`phrases/${name}.txt`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("# "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

/** The periods that a query names, as `week 2026-03-02..2026-03-08`. */
export function periodsOf(query: string, reading: Partial<TimeReading> = {}): string[] {
  return readTimes(query, { now, ...reading }).periods.map(
    ({ from, to, unit }) => `${unit} ${isoDate(from)}${to === from ? "" : `..${isoDate(to)}`}`,
  );
}
