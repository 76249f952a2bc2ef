import { remembered } from "../word-cache.ts";
import type { FoundTime } from "./found-time.ts";
import type { Doubt, DoubtedPart } from "./language.ts";
import { doubtsOf } from "./grammar.ts";
import tables from "./patterns.json" with { type: "json" };
import { namedPattern } from "./patterns.ts";

const { measured, numbered, served, following, plural } = tables.doubts;
const regExp = remembered((pattern) => namedPattern(pattern));

/** Whether words that look like a time are probably something else: "version 10.01.2024", "may 5 users", "hier" in German. */
export function isDoubtful(time: FoundTime, text: string, written: string): boolean {
  const words = text.slice(time.start, time.end);
  const before = text.slice(Math.max(0, time.start - 40), time.start);
  const after = text.slice(time.end, time.end + 40);
  const [language] = time.languages;
  // What is counted with figures other than years, and what is numbered.
  if (language === undefined)
    return regExp(numbered).test(before) || (/^\d{4}$/.test(words) && regExp(measured).test(after));
  const parts = { words, before, after, text, written };
  const isDoubt = ({ weekday, ...patterns }: Doubt): boolean =>
    (weekday !== true || time.weekday !== undefined) &&
    Object.entries(patterns).every(([part, pattern]) => regExp(pattern).test(parts[part as DoubtedPart]));
  return doubtsOf(language).some(isDoubt) || (language === "english" && mayBeNoMonth(parts));
}

/** "The second may fail", "he is the first. March!" */
function mayBeNoMonth({ words, before, after, written }: Record<DoubtedPart, string>): boolean {
  const isSmall = !/(?<![a-z\xb5-\u1fff])(?:May|March|MAY|MARCH|Mar)(?![a-z\xb5-\u1fff])/.test(written);
  const month = /(?<![a-z\xb5-\u1fff])(?:may|march|mar)(?![a-z\xb5-\u1fff])/.exec(words)?.[0];
  const isCount = regExp(plural).test(after) && !regExp(served).test(before);
  if (month === undefined || /\d{4}$/.test(words))
    return isCount && /^(?:jan|dec|april|june|august|sep) \d/.test(words);
  if (
    isSmall &&
    /^[a-z\xb5-\u1fff]+(?<!may|march|mar|last|this|next|past|previous|day)\s+(?:may|march|mar)$/.test(words)
  )
    return true;
  if (/^(?:may|march|mar)(?![a-z\xb5-\u1fff]).*\d/.test(words)) return isCount;
  if (!isSmall || month !== "may") return false;
  if (words === "may" && !regExp(served).test(before)) return /^\s+[a-z\xb5-\u1fff]/.test(after);
  return !/^(?:last|past|previous|next)/.test(words) && regExp(following).test(after);
}
