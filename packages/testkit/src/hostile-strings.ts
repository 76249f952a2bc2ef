import { randomFrom } from "./random.ts";

const fixed: readonly string[] = [
  '"', '""', '"unclosed', "'", "''", "*", "a*", "^a", "(", ")", "((", "a)", "{", "}", "{a b}: c", ":", "a:b", "terms:a", "-", "--", "-a", "+", "+a + b",
  "AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR(a b, 5)", "a AND", "OR b", "NOT a", "a NOT", "a AND OR NOT b", "'; DROP TABLE chunks; --", "%", "_", "\\", "\\'",
  "\0", "a\0b", "\u{feff}", "\u200b", "\u202e", "\ud800", "\udc00", "a\ud83d", "🙂", "👩‍👩‍👧‍👦", "é", "e\u0301", "ﷺ", "İ", "ß", "\n", "\r\n", "\t", " ",
  "中", "你好，世界！", "「」", "../../etc/passwd", "$(reboot)", "`id`", "${HOME}", "<script>", "&amp;", "null", "undefined", "NaN", "__proto__", "constructor", "toString", "[a-z]+", "(?:", "--help", "-n", "@", "#", "~", "\u0007",
];

const pieces: readonly string[] = [
  '"', "'", "*", "^", "(", ")", "{", "}", ":", "-", "+", " ", " AND ", " OR ", " NOT ", " NEAR(", ",", ";", "\\", "%", "\0", "\ud83d", "\ude42", "🙂", "é", "中", "文", "한", "ا", "a", "Z9", "_", "\n", "--", "\u200d", "~", "\u{10ffff}",
];

/**
 * Strings that break parsers: operators of query languages, quotes, control characters, lone surrogates, other
 * scripts, and very long ones. The same for the same count and seed. At least as many as are written down here.
 */
export function hostileStrings(count: number, seed: number): string[] {
  const random = randomFrom(seed);
  const pick = (): string => pieces[Math.floor(random() * pieces.length)] ?? "";
  const made = Array.from({ length: Math.max(0, count - fixed.length) }, () => Array.from({ length: 1 + Math.floor(random() * 12) }, pick).join(""));
  return [...fixed, ...made, '"'.repeat(3000), "(".repeat(3000), "OR ".repeat(2000), `zq${"x".repeat(20_000)}`];
}
