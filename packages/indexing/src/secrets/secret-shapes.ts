import { type LineSign, lineSigns } from "./line-prefilter.ts";
import logins from "./logins.json" with { type: "json" };
import { isExample, isPlaceholder, looksLikePassword, looksRandom, patternsOf } from "./word-checks.ts";
import { type Cut, type Page, spansOf } from "./redacted-lines.ts";
import shapes from "./shapes.json" with { type: "json" };

const notInside = String.raw`(?<![A-Za-z0-9](?<!\\[nrt]|%[0-9A-F]{2}))`;

interface Start {
  /** None for what is no secret and is skipped as a whole. */
  name: string | undefined;
  text: string;
  rest: RegExp;
}

/** Secrets known by prefix. An unbounded class may only end `rest`, to avoid quadratic time. */
export const secretShapes: readonly { name: string; starts: string; rest: string }[] = shapes.shapes.map(
  ([name = "", starts = "", rest = ""]) => ({ name, starts, rest }),
);

export const looseShapes: readonly { name: string; holds: string; pattern: RegExp }[] = shapes.loose.map(
  ([name = "", holds = "", pattern = ""]) => ({ name, holds, pattern: new RegExp(notInside + pattern, "g") }),
);

/** An image inside a text: among its many characters at random some could look like the beginning of a key. */
const ofDataUri = String.raw`[\w.+-]+\/[\w.+-]+(?:;[\w-]+=[\w-]+){0,3};base64,[A-Za-z0-9+/=]+`;
const dataUri: Start = { name: undefined, text: "data:", rest: new RegExp(ofDataUri, "y") };
const dataUris = new RegExp(`data:${ofDataUri}`, "g");

const startsAt = Array<Start[] | undefined>(1 << 14);
for (const start of [dataUri, ...secretShapes.flatMap(startsOf)]) (startsAt[placeOf(start.text, 0)] ??= []).push(start);

function startsOf({ name, starts, rest }: (typeof secretShapes)[number]): Start[] {
  const pattern = new RegExp(rest, "y");
  return starts.split(" ").map((text) => ({ name, text, rest: pattern }));
}

function placeOf(text: string, index: number): number {
  return ((text.charCodeAt(index) * 128) & 0x3f80) | (text.charCodeAt(index + 1) & 127);
}

/** A letter or digit before may be a line end as JSON has it (`\\n`), or the end of a sign as addresses do (`%3D`). */
const insideWord = /(?<!\\|%.)[A-Za-z0-9]$/s;

export function findShapes(line: string): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  /** Where what was found last ends, secret or not. */
  let end = 0;
  for (let index = 0; index + 1 < line.length; index++) {
    const starts = index < end ? undefined : startsAt[placeOf(line, index)];
    if (starts === undefined || (index !== done && insideWord.test(line.slice(Math.max(0, index - 3), index))))
      continue;
    const found = starts.find(({ text, rest }) => {
      rest.lastIndex = index + text.length;
      return line.startsWith(text, index) && rest.test(line);
    });
    if (found === undefined) continue;
    end = found.rest.lastIndex;
    if (found.name === undefined || isPlaceholder(line.slice(index, end))) continue;
    cuts.push({ start: index, end, name: found.name });
    done = end;
  }
  return cuts;
}

export function findLoose({ name, holds, pattern }: (typeof looseShapes)[number], line: string): Cut[] {
  if (!line.includes(holds)) return [];
  const images = line.includes(";base64,") ? spansOf(line, dataUris) : [];
  return spansOf(line, pattern, name)
    .filter(({ start, end }) => !images.some((image) => image.start < start && image.end >= end))
    .filter(({ start, end }) => !isPlaceholder(line.slice(start, end)));
}

const is = patternsOf("logins");

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
  keep: string;
}

/** Where programs and people write down who they are and what proves it. */
const rules = (logins as readonly Row[]).map(({ sign, holds, match, flags, name, keep }) => ({
  sign: sign === undefined ? 0 : lineSigns[sign as LineSign],
  holds: holds === undefined ? undefined : new RegExp(holds, "i"),
  pattern: new RegExp(match, flags),
  name,
  isSecret: checks[keep] ?? isTyped,
}));
/** Whether a line holds any of it: one look, where most lines with a sign hold none. */
const anyLogin = new RegExp(rules.flatMap(({ holds }) => holds?.source ?? []).join("|"), "i");

const shortestSession = 8;

/** Cuts passwords from URLs, headers and commands. */
export function cutLogins(page: Page, index: number, signsOfLine: number): void {
  const lineNow = (): string => page.lines[index] ?? "";
  const signs = anyLogin.test(lineNow()) ? signsOfLine : signsOfLine & ~lineSigns.login;
  for (const { sign, holds, pattern, name, isSecret } of rules)
    if ((signs & sign) === sign && holds?.test(lineNow()) !== false)
      page.cut(index, findBehind(lineNow(), pattern, name, isSecret));
  if (signs & lineSigns.cookie)
    for (const start of [is.cookies, is.cookieOption]) page.cut(index, findCookies(lineNow(), start));
}

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

function isGiven(word: string): boolean {
  return !word.includes("[redacted") && !isExample(word) && !/^[$%<{]/.test(word);
}

function isTyped(word: string): boolean {
  return !is.notTyped.test(word) && !isExample(word) && (/[\d\W_]/.test(word) || looksRandom(word));
}
