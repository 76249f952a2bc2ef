import data from "../data/hostile-strings.json" with { type: "json" };
import { randomFrom } from "./seeded-random.ts";

// Lone surrogates are not in the data file: some readers of JSON refuse them.
const texts: readonly string[] = [...data.texts, "\ud800", "\udc00", "a\ud83d"];
const parts: readonly string[] = [...data.parts, "\ud83d", "\ude42"];
const longTexts = ['"'.repeat(3000), "(".repeat(3000), "OR ".repeat(2000), `zq${"x".repeat(20_000)}`];

/**
 * Strings that break parsers: query operators, quotes, control characters, lone surrogates, many scripts, long texts.
 * Returns the same strings for the same count and seed, and never fewer than the fixed ones.
 */
export function hostileStrings(count: number, seed: number): string[] {
  const random = randomFrom(seed);
  const pick = (): string => parts[Math.floor(random() * parts.length)] ?? "";
  const drawn = Array.from({ length: Math.max(0, count - texts.length) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 12) }, pick).join(""),
  );
  return [...texts, ...drawn, ...longTexts];
}
