import { MemoryError } from "@memslot/core";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A timer takes at most 2^31 - 1 milliseconds, about 24 days. */
const longestMs = 2 ** 31 - 1;

/**
 * Milliseconds of a duration as the configuration writes it: `"5m"`, `"1h30m"`, `"90s"`, `"500ms"`, or a number of
 * minutes. 0, `"0"` and `"off"` are 0, which switches off what it is the interval of. Throws `CONFIG` naming the key.
 */
export function readDuration(key: string, written: string | number): number {
  if (typeof written === "number") return Math.min(longestMs, written * 60_000);
  const text = written.trim().toLowerCase();
  if (text === "0" || text === "off") return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw new MemoryError(
      "CONFIG",
      `${key} must be a duration such as "5m", "90s" or "1h30m", or "0" for never; it is ${JSON.stringify(written)}`,
    );
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * (units[unit ?? ""] ?? 0), 0);
  return Math.min(longestMs, sum);
}
