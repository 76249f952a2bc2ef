import { lineSigns } from "./line-signs.ts";
import table from "./logins.json" with { type: "json" };
import { isExample, looksLikePassword, looksRandom } from "./looks.ts";
import type { Cut, Page } from "./page.ts";

const address = /(:\/\/[^\s:/?#<>"'`]{0,100}:)(?!\d{1,5}[;?,])([^\s/<>"'`()[\]{}|\\]{1,200})@/g;
/** Of databases, queues and mail, where people forget to encode a sign: it goes to the last `@` before a host. */
const loose =
  /((?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|clickhouse|s?ftp|smtps?|imaps?|ldaps?|mqtts?)(?:\+\w{1,20})?:\/\/[^\s:/?#<>"'`]{0,100}:)((?!\d{1,5}[/;?,])[^\s"'`<>]{1,120})@(?=[\w.[-]{1,60}(?:[:/?,\s"'`;)\]}]|$))/gi;
const token = /(:\/\/)([\w-]{20,200})@(?=[\w.-]{1,100})/g;
const notAPassword =
  /^(?:[*.x]+|[$%]\{?\w+\}?%?|[$%]?[<{([].*|pass(?:word|wd)?|pwd|pw|secret|change-?me|(?:my|your|the)[-_]?(?:password|secret).*)$/i;
const encoded = /(\bbasic\s{1,4}|["']?\bauth["']?\s?[:=]\s{0,4}["'])([A-Za-z0-9+/]{8,}={0,2})/gi;

/** How it is told whether what a pattern has found is a secret. */
const checks: Readonly<Record<string, (secret: string) => boolean>> = {
  typed: isTyped,
  random: looksRandom,
  given: (secret) => !secret.includes("[redacted") && !isExample(secret) && !/^[$%<{]/.test(secret),
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
/** The file of PostgreSQL: host, port, database, user and password. */
const pgpass = /^([\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:)(\S{4,100})$/g;
/** … is the password of the router. */
const turned =
  /["'`*]{0,2}\s(?:is|was|as|ist|war|als|est|es|è)\s(?:the|my|our|your|their|a|das|mein|unser|le|la|mi)\s(?:[\w-]{1,20}\s){0,3}(?:password|passwort|kennwort|passphrase|mot de passe|contraseña)(?=\s(?:for|of|to|on|at|für|von|vom|zum|zur|des|der|du|de|del)\s|[.,;!?)]|\s?$)/gi;
const wordBefore = /(?:^|[\s"'`(*])([!-~]{6,60})$/;
/** Twelve words or more, as wallets are restored with. */
const phrase =
  /(\b(?:seed|recovery|mnemonic|backup|wallet)(?:[ _-](?:phrase|words|seed|mnemonic))?\s?["'*]{0,3}(?:\s(?:is|ist))?\s?[:=]?\s{0,3}["'`*]{0,3})((?:[a-z]{3,8}[\s,]{1,2}){11,23}[a-z]{3,8})(?![a-z])/gi;

/** The header, and the option of curl. */
const cookies = [
  /\b(?:set-)?cookie["'*]{0,3}\s?[:=]\s?["'`]?(?=[\w.-]{1,80}=)/gi,
  /\s(?:-b|--cookie)\s{1,3}["']?(?=[\w.-]{1,80}=)/g,
];
const pair = /([\w.-]{1,80})=([^\s;,"'`]{1,4096})(?:;\s?|,\s?|(?=["'`\s]|$))/y;
const setting = /^(?:path|domain|expires|max-age|samesite|secure|httponly|priority|partitioned)$/i;
const shortestSession = 8;

type Secret = (secret: string, before: string) => boolean;

/** Cuts passwords out of addresses, headers, commands and the like, where their place gives them away. */
export function cutLogins(page: Page, index: number, signs: number): void {
  const cut = (pattern: RegExp, name: string, isSecret: Secret): void => {
    page.cut(index, findBehind(page.lines[index] ?? "", pattern, name, isSecret));
  };
  if (signs & lineSigns.address) {
    for (const pattern of [loose, address]) cut(pattern, "password", isOne);
    cut(token, "token", looksRandom);
  }
  if (signs & lineSigns.header) cut(encoded, "password", isCredentials);
  if (signs & lineSigns.login && anyLogin.test(page.lines[index] ?? ""))
    for (const { holds, pattern, name, check } of logins)
      if (holds.test(page.lines[index] ?? "")) cut(pattern, name, check);
  if (signs & lineSigns.password) page.cut(index, findTurned(page.lines[index] ?? ""));
  if (signs & lineSigns.phrase) cut(phrase, "recovery phrase", () => true);
  cut(pgpass, "password", isTyped);
  if (signs & lineSigns.cookie)
    for (const start of cookies) page.cut(index, findCookies(page.lines[index] ?? "", start));
}

/** The second group of a pattern, which stands right behind the first. */
function findBehind(line: string, pattern: RegExp, name: string, isSecret: Secret): Cut[] {
  const cuts: Cut[] = [];
  for (const { 1: before = "", 2: secret = "", index } of line.matchAll(pattern)) {
    const start = index + before.length;
    if (isSecret(secret, before)) cuts.push({ start, end: start + secret.length, name });
  }
  return cuts;
}

function findTurned(line: string): Cut[] {
  return Array.from(line.matchAll(turned)).flatMap(({ index }) => {
    const [, word = ""] = wordBefore.exec(line.slice(Math.max(0, index - 62), index)) ?? [];
    return looksLikePassword(word) ? [{ start: index - word.length, end: index, name: "password" }] : [];
  });
}

/** The values of the cookies of a request or an answer, other than plain words and numbers. */
function findCookies(line: string, start: RegExp): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  for (const match of line.matchAll(start)) {
    pair.lastIndex = match.index + match[0].length;
    if (pair.lastIndex < done) continue;
    for (let at = pair.lastIndex; ; at = pair.lastIndex) {
      const found = pair.exec(line);
      if (found === null) break;
      const [, name = "", value = ""] = found;
      if (setting.test(name) || !isSession(value)) continue;
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
  return !notAPassword.test(password) && !password.includes("[redacted");
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
