import data from "../data/hostile-strings.json" with { type: "json" };
import { randomFrom } from "./random.ts";

/** Lone surrogates are no JSON for every reader of it. */
const fixed: readonly string[] = [...data, "\ud800", "\udc00", "a\ud83d"];

const pieces: readonly string[] = [
  '"',
  "'",
  "*",
  "^",
  "(",
  ")",
  "{",
  "}",
  ":",
  "-",
  "+",
  " ",
  " AND ",
  " OR ",
  " NOT ",
  " NEAR(",
  ",",
  ";",
  "\\",
  "%",
  "\0",
  "\ud83d",
  "\ude42",
  "🙂",
  "é",
  "中",
  "文",
  "한",
  "ا",
  "a",
  "Z9",
  "_",
  "\n",
  "--",
  "\u200d",
  "~",
  "\u{10ffff}",
];

/**
 * Strings that break parsers: operators of query languages, quotes, control characters, lone surrogates, other
 * scripts, and very long ones. The same for the same count and seed. At least as many as are written down here.
 */
export function hostileStrings(count: number, seed: number): string[] {
  const random = randomFrom(seed);
  const pick = (): string => pieces[Math.floor(random() * pieces.length)] ?? "";
  const made = Array.from({ length: Math.max(0, count - fixed.length) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 12) }, pick).join(""),
  );
  return [...fixed, ...made, '"'.repeat(3000), "(".repeat(3000), "OR ".repeat(2000), `zq${"x".repeat(20_000)}`];
}
