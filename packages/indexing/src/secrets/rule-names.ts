import { isExample, isUuid, looksLikePassword, looksRandom } from "./looks.ts";
import table from "./names.json" with { type: "json" };
import type { Cut } from "./page.ts";
import { patternsOf } from "./patterns.ts";

const is = patternsOf("names");

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
const named = new RegExp(names, "iy");

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

/** Whose it is, between the name and its value: ` for the NAS`. No sentence ends in it. */
const whose = String.raw`(?:\s(?:for|of|to|on|at|from|für|fürs|beim|am|im|von|vom|zu|zum|zur|des|der|auf|pour|du|de|del|della|di|para|da|do|van|voor|для|от|к)\s(?:[^\n.!?:;=|"'\`]|[.](?=\S)){1,60}?)?`;
const verb = String.raw`(?:is now|is|was|ist|war|lautet|est|es|é|è|был|это|set to|changed to|to|auf)(?:\s?:)?(?=\s)`;
const quoteEnd = String.raw`[\\"'\`*_)\]]{0,4}`;
const note = String.raw`(?:[_-]?(?:(?:\b\s)?\d{1,3}|prod|production|dev|staging|test|live|main|old|new))?(?: ?\([^()]{0,40}\))?`;

/** Between a name and its value, from the surest: `=`, `": "`, `:** \``, ` is `, ` for the NAS: `, `>`, `" value="`. */
const joiner = new RegExp(
  String.raw`${note}${quoteEnd}(?:${whose}(?:\s{0,8}(?:=>|[:=?+]?[:=]|：|[是为為は는은][：:]?|改成|改为|设为|設為|[–—→](?=\s)|->|\s-\s)[\s*_]{0,8}|(?:\s${verb}|['’]s(?=\s))\s{1,8}[*_]{0,3})|\s?>|,?\s{1,4}["']?value["']?\s?[=:]\s?)\\?`,
  "iy",
);
/** Where nothing but a space or the line of a table is between. */
const space = new RegExp(
  String.raw`${note}${quoteEnd}(?:\s{1,8}\|?\s{0,8}|\|\s{1,8}|,(?!\s)|,\s{1,2}(?=["']))\\?`,
  "iy",
);

/** In one kind of quotation marks the others may stand. Looked at only so far: a longer one is taken whole if it fits. */
const longest = 100;
const value = new RegExp(String.raw`(["'])((?:(?!\1)[!-~]){1,${longest}})|\`?()([!#-&(-;=?-_a-~]{1,${longest}})`, "y");

/** Finds what a name says is a secret: `api_key = …`, `"password": "…"`, `Bearer …`, `the password for … is …`. */
export function findNamed(line: string): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  for (let index = 0; index + 1 < line.length; index++) {
    const place = placeOf(line.charCodeAt(index), line.charCodeAt(index + 1), line.charCodeAt(index + 2));
    if (beginsHere[place] !== 1) continue;
    named.lastIndex = index;
    const match = named.exec(line);
    if (match === null) continue;
    const start = index;
    const end = start + match[0].length;
    index = end - 1;
    if (end < done || (!match[0].endsWith("]") && isInReplacement(line, start))) continue;
    const found = valueAfter(line, start, end);
    const kind = kinds[match.slice(1).findIndex((group) => group !== undefined)];
    if (found === undefined || kind === undefined || found.start < done || !isSecret(found, kind)) continue;
    done = found.start + found.word.length;
    if (found.word.length === longest) {
      is.unquoted.lastIndex = done;
      done += is.unquoted.exec(line)?.[0].length ?? 0;
    }
    cuts.push({ start: found.start, end: done, name: kind.name });
  }
  return cuts;
}

/** What was taken out before is named as well. */
function isInReplacement(line: string, at: number): boolean {
  return /\[redacted: [^\]]{0,40}$/.test(line.slice(Math.max(0, at - 60), at));
}

/** The name that a line, or the part of it, ends with, and that its value must follow: `password:`, `the key is`. */
export function openName(text: string): string | undefined {
  return openEnd.exec(text)?.[0];
}

const openEnd = new RegExp(
  String.raw`(?:${names})${note}${quoteEnd}${whose}(?:\s{0,4}(?:[:=：]|=>|[是为為は는은])|\s(?:is|ist|lautet|est|es|é|è))[\s*_]{0,6}$`,
  "i",
);

/** The name that a text is, as a heading of a table or the key of a setting has it. */
export function isName(text: string): boolean {
  return wholeName.test(text);
}

const wholeName = new RegExp(String.raw`^[\w .-]{0,40}(?:${names})${note}$`, "i");

interface FoundValue {
  start: number;
  word: string;
  /** Whether more than a space stands before it. */
  isJoined: boolean;
  /** Whether it is set for a variable of the environment: `DB_PASSWORD=…`. */
  isVariable: boolean;
  isForGuests: boolean;
}

function valueAfter(line: string, nameStart: number, nameEnd: number): FoundValue | undefined {
  joiner.lastIndex = nameEnd;
  space.lastIndex = nameEnd;
  const isJoined = joiner.test(line);
  if (!isJoined && !space.test(line)) return undefined;
  const from = isJoined ? joiner.lastIndex : space.lastIndex;
  value.lastIndex = from;
  const match = value.exec(line);
  if (match === null) return undefined;
  const [all, quote = "", inQuotes, , bare = ""] = match;
  const given = inQuotes ?? bare;
  const [own = ""] = given.split(is.somethingElse, 1);
  const before = line.slice(Math.max(0, nameStart - 60), nameStart);
  const whole = line.slice(Math.max(0, nameStart - 60), nameEnd);
  return {
    start: from + all.length - given.length,
    word: own.replace(quote !== "" && own === given ? /\\$/ : is.closing, ""),
    isJoined: isJoined || quote === "'" || is.beforeOption.test(before) || is.beforeOption.test(whole),
    isVariable: line.startsWith("=", nameEnd) && is.variable.test(whole),
    isForGuests: is.forGuests.test(before),
  };
}

function isSecret({ word, isJoined, isVariable, isForGuests }: FoundValue, kind: Kind): boolean {
  if (looksRandom(word)) return true;
  if (isUuid(word)) return kind.takesUuid === true;
  if (isVariable && kind.takesUuid === true) return isSetForSecret(word);
  return kind.isChosen === true && isJoined && !isForGuests && looksLikePassword(word);
}

/** Where a program expects a secret, words are one as well. */
function isSetForSecret(word: string): boolean {
  return (
    word.length >= 8 &&
    /^[A-Za-z][\w!@#$%^&*+.=~-]+$/.test(word) &&
    !/[[(/]|^[a-z]+\.[a-z]/i.test(word) &&
    !isExample(word)
  );
}
