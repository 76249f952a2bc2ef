import type { WordReading } from "../contract/report.ts";

/** Says how words of a question were read that stand in none of the notes, as one sentence without its full stop. */
export function describeReadings(readings: readonly WordReading[]): string {
  return readings.map(({ word, as }) => `"${word}" was read as ${as}`).join(", ");
}
