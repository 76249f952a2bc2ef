import { isExample, isUuid, looksLikePassword, looksRandom } from "./looks.ts";
import table from "./names.json" with { type: "json" };
import type { Cut } from "./page.ts";
import { patternsOf } from "./patterns.ts";

interface Kind {
  /** What its secret is redacted as. */
  name: string;
  /** What it is called, each a pattern that begins with three letters, or two of a script that has more. */
  words: readonly string[];
  /** Whether people think it out, so that it need not look generated. */
  isChosen?: boolean;
  /** Whether a UUID is one: ids are UUIDs too. */
  takesUuid?: boolean;
}

/** What a secret is called where it is named. The first that fits counts. */
const kinds: readonly Kind[] = table;

const names = kinds.map(({ words }) => `(${words.join("|")})`).join("|");
const is = patternsOf("names", { names });

/** Where a name may begin, by its first three characters, or two that are not Latin; small letters and large are one. */
const afterShort = " :=*_\"'`)|";
const beginsHere = new Uint8Array(1 << 15);
for (const word of kinds.flatMap(({ words }) => words)) {
  const [literal = ""] = /^[^([]*/.exec(word) ?? [];
  const thirds = literal.length > 2 ? literal.charAt(2) : afterShort;
  for (const third of thirds) beginsHere[placeOf(word.charCodeAt(0), word.charCodeAt(1), third.charCodeAt(0))] = 1;
}

function placeOf(first: number, second: number, third: number): number {
  return ((first & 31) << 10) | ((second & 31) << 5) | (first < 0x250 ? third & 31 : 0);
}

/** A longer value without quotation marks is taken whole if its beginning fits. */
const longest = 100;

/** Finds what a name says is a secret: `api_key = …`, `"password": "…"`, `Bearer …`, `the password for … is …`. */
export function findNamed(line: string): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  for (let index = 0; index + 1 < line.length; index++) {
    const place = placeOf(line.charCodeAt(index), line.charCodeAt(index + 1), line.charCodeAt(index + 2));
    if (beginsHere[place] !== 1) continue;
    is.named.lastIndex = index;
    const match = is.named.exec(line);
    if (match === null) continue;
    const start = index;
    const end = start + match[0].length;
    index = end - 1;
    const isRedacted = !match[0].endsWith("]") && is.inReplacement.test(line.slice(Math.max(0, start - 60), start));
    const kind = kinds[match.slice(1).findIndex((group) => group !== undefined)];
    const found = end < done || isRedacted || kind === undefined ? undefined : secretAfter(line, start, end, kind);
    if (found === undefined || found.start < done) continue;
    cuts.push(found);
    done = found.end;
  }
  return cuts;
}

/** The name that a line, or the part of it, ends with, and that its value must follow: `password:`, `the key is`. */
export function openName(text: string): string | undefined {
  return is.openEnd.exec(text)?.[0];
}

/** The name that a text is, as a heading of a table or the key of a setting has it. */
export function isName(text: string): boolean {
  return is.wholeName.test(text);
}

/** The value of a name, if it is a secret. */
function secretAfter(line: string, nameStart: number, nameEnd: number, kind: Kind): Cut | undefined {
  is.joiner.lastIndex = nameEnd;
  is.space.lastIndex = nameEnd;
  const hasJoiner = is.joiner.test(line);
  if (!hasJoiner && !is.space.test(line)) return undefined;
  is.value.lastIndex = hasJoiner ? is.joiner.lastIndex : is.space.lastIndex;
  const match = is.value.exec(line);
  if (match === null) return undefined;
  const [, quote = "", inQuotes, , bare = ""] = match;
  const given = inQuotes ?? bare;
  const [own = ""] = given.split(is.somethingElse, 1);
  const word = own.replace(quote !== "" && own === given ? /\\$/ : is.closing, "");
  const before = line.slice(Math.max(0, nameStart - 60), nameStart);
  const whole = line.slice(Math.max(0, nameStart - 60), nameEnd);
  const isVariable = line.startsWith("=", nameEnd) && is.variable.test(whole);
  const isJoined = hasJoiner || quote === "'" || is.beforeOption.test(before) || is.beforeOption.test(whole);
  const isSecret = (): boolean => {
    if (looksRandom(word)) return true;
    if (isUuid(word)) return kind.takesUuid === true;
    if (isVariable && kind.takesUuid === true) return isSetForSecret(word);
    return kind.isChosen === true && isJoined && !is.forGuests.test(before) && looksLikePassword(word);
  };
  if (!isSecret()) return undefined;
  const start = is.value.lastIndex - given.length;
  is.unquoted.lastIndex = start + word.length;
  const isLonger = word.length === longest && is.unquoted.test(line);
  return { start, end: isLonger ? is.unquoted.lastIndex : start + word.length, name: kind.name };
}

/** Where a program expects a secret, words are one as well. */
function isSetForSecret(word: string): boolean {
  return is.setForSecret.test(word) && !/[[(/]|^[a-z]+\.[a-z]/i.test(word) && !isExample(word);
}
