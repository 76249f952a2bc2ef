const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A timer takes at most 2^31 - 1 milliseconds, about 24 days. */
const longestMs = 2 ** 31 - 1;

/**
 * Milliseconds of a duration as the schema lets it be written: `"5m"`, `"1h30m"`, `"90s"`, `"500ms"`, or a number of
 * minutes. 0, `"0"` and `"off"` are 0, which switches off what it is the interval of.
 */
export function readDuration(written: string | number): number {
  if (typeof written === "number") return Math.min(longestMs, written * 60_000);
  const parts = [...written.toLowerCase().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * (units[unit ?? ""] ?? 0), 0);
  return Math.min(longestMs, sum);
}
