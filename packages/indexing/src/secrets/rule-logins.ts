import { lineSigns } from "./line-signs.ts";
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
};
/** Where programs and people write down who they are and what proves it: what stands before, and the secret. */
const logins = table.map(([holds = "", pattern = "", flags, name = "password", check = "typed"]) => ({
  holds: new RegExp(holds, "i"),
  pattern: new RegExp(pattern, flags),
  name,
  check: checks[check] ?? isTyped,
}));
/** Whether a line holds any of it: one look, where most lines with a sign hold none. */
const anyLogin = new RegExp(logins.map(({ holds }) => holds.source).join("|"), "i");

/** The header, and the option of curl. */
const cookies = [
  /\b(?:set-)?cookie["'*]{0,3}\s?[:=]\s?["'`]?(?=[\w.-]{1,80}=)/gi,
  /\s(?:-b|--cookie)\s{1,3}["']?(?=[\w.-]{1,80}=)/g,
];
const shortestSession = 8;

type Secret = (secret: string, before: string) => boolean;

/** Cuts passwords out of addresses, headers, commands and the like, where their place gives them away. */
export function cutLogins(page: Page, index: number, signs: number): void {
  const cut = (pattern: RegExp, name: string, isSecret: Secret): void => {
    page.cut(index, findBehind(page.lines[index] ?? "", pattern, name, isSecret));
  };
  if (signs & lineSigns.address) {
    for (const pattern of [is.loose, is.address]) cut(pattern, "password", isOne);
    cut(is.token, "token", looksRandom);
  }
  if (signs & lineSigns.header) cut(is.encoded, "password", isCredentials);
  if (signs & lineSigns.login && anyLogin.test(page.lines[index] ?? ""))
    for (const { holds, pattern, name, check } of logins)
      if (holds.test(page.lines[index] ?? "")) cut(pattern, name, check);
  if (signs & lineSigns.password) page.cut(index, findTurned(page.lines[index] ?? ""));
  if (signs & lineSigns.phrase) cut(is.phrase, "recovery phrase", () => true);
  cut(is.pgpass, "password", isTyped);
  if (signs & lineSigns.cookie)
    for (const start of cookies) page.cut(index, findCookies(page.lines[index] ?? "", start));
}

/** The second group of a pattern, which stands right behind the first. */
export function findBehind(line: string, pattern: RegExp, name: string, isSecret: Secret): Cut[] {
  const cuts: Cut[] = [];
  for (const { 1: before = "", 2: secret = "", index } of line.matchAll(pattern)) {
    const start = index + before.length;
    if (isSecret(secret, before)) cuts.push({ start, end: start + secret.length, name });
  }
  return cuts;
}

function findTurned(line: string): Cut[] {
  return Array.from(line.matchAll(is.turned)).flatMap(({ index }) => {
    const [, word = ""] = is.wordBefore.exec(line.slice(Math.max(0, index - 62), index)) ?? [];
    return looksLikePassword(word) ? [{ start: index - word.length, end: index, name: "password" }] : [];
  });
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

function isOne(password: string): boolean {
  return !is.notAPassword.test(password) && !password.includes("[redacted");
}

/** What stands where nothing but a secret does, unless it only shows where one would stand. */
export function isGiven(word: string): boolean {
  return !word.includes("[redacted") && !isExample(word) && !/^[$%<{]/.test(word);
}

/** What follows an option may be a variable, a file or another option. */
function isTyped(word: string): boolean {
  return (
    !/^[$%<{[(*-]|\[redacted|^(?:\.{0,2}|~)\/|:\/\//.test(word) &&
    !isExample(word) &&
    (/[\d\W_]/.test(word) || looksRandom(word))
  );
}

function isCredentials(code: string): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(code, "base64").toString("latin1"));
}
