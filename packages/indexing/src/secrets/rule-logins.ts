import { type LineSign, lineSigns } from "./line-signs.ts";
import table from "./logins.json" with { type: "json" };
import { isExample, looksLikePassword, looksRandom } from "./looks.ts";
import type { Cut, Page } from "./page.ts";
import { patternsOf } from "./patterns.ts";

const is = patternsOf("logins");

/** How it is told whether what a pattern has found is a secret. */
const checks: Readonly<Record<string, (secret: string) => boolean>> = {
  typed: isTyped,
  random: looksRandom,
  given: isGiven,
  password: looksLikePassword,
  address: (password) => !is.notAPassword.test(password) && !password.includes("[redacted"),
  credentials: (code) => /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(code, "base64").toString("latin1")),
  any: () => true,
};

interface Row {
  /** The sign of a line that the pattern can match; any line without one. */
  sign?: string;
  /** What the line has to hold before the pattern is tried. */
  holds?: string;
  /** What stands before the secret, and the secret: two groups. */
  match: string;
  flags: string;
  name: string;
  /** The check that decides whether what was found is a secret. */
  keep: string;
}

/** Where programs and people write down who they are and what proves it. */
const rules = (table as readonly Row[]).map(({ sign, holds, match, flags, name, keep }) => ({
  sign: sign === undefined ? 0 : lineSigns[sign as LineSign],
  holds: holds === undefined ? undefined : new RegExp(holds, "i"),
  pattern: new RegExp(match, flags),
  name,
  isSecret: checks[keep] ?? isTyped,
}));
/** Whether a line holds any of it: one look, where most lines with a sign hold none. */
const anyLogin = new RegExp(rules.flatMap(({ holds }) => holds?.source ?? []).join("|"), "i");

const shortestSession = 8;

/** Cuts passwords out of addresses, headers, commands and the like, where their place gives them away. */
export function cutLogins(page: Page, index: number, signsOfLine: number): void {
  const lineNow = (): string => page.lines[index] ?? "";
  const signs = anyLogin.test(lineNow()) ? signsOfLine : signsOfLine & ~lineSigns.login;
  for (const { sign, holds, pattern, name, isSecret } of rules)
    if ((signs & sign) === sign && holds?.test(lineNow()) !== false)
      page.cut(index, findBehind(lineNow(), pattern, name, isSecret));
  if (signs & lineSigns.cookie)
    for (const start of [is.cookies, is.cookieOption]) page.cut(index, findCookies(lineNow(), start));
}

/** The second group of a pattern, which stands right behind the first. */
export function findBehind(
  line: string,
  pattern: RegExp,
  name: string,
  isSecret: (secret: string) => boolean = isGiven,
): Cut[] {
  const cuts: Cut[] = [];
  for (const { 1: before = "", 2: secret = "", index } of line.matchAll(pattern)) {
    const start = index + before.length;
    if (isSecret(secret)) cuts.push({ start, end: start + secret.length, name });
  }
  return cuts;
}

/** The values of the cookies of a request or an answer, other than plain words and numbers. */
function findCookies(line: string, start: RegExp): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  for (const match of line.matchAll(start)) {
    is.pair.lastIndex = match.index + match[0].length;
    if (is.pair.lastIndex < done) continue;
    for (let at = is.pair.lastIndex; ; at = is.pair.lastIndex) {
      const found = is.pair.exec(line);
      if (found === null) break;
      const [, name = "", value = ""] = found;
      if (is.setting.test(name) || !isSession(value)) continue;
      const from = at + name.length + 1;
      done = from + value.length;
      cuts.push({ start: from, end: done, name: "session cookie" });
    }
  }
  return cuts;
}

function isSession(value: string): boolean {
  if (value.startsWith("[redacted")) return false;
  return looksRandom(value) || (value.length >= shortestSession && /\d/.test(value) && /[a-z]/i.test(value));
}

/** What stands where nothing but a secret does, unless it only shows where one would stand. */
function isGiven(word: string): boolean {
  return !word.includes("[redacted") && !isExample(word) && !/^[$%<{]/.test(word);
}

function isTyped(word: string): boolean {
  return !is.notTyped.test(word) && !isExample(word) && (/[\d\W_]/.test(word) || looksRandom(word));
}
