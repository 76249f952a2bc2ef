import { lineSigns } from "./line-prefilter.ts";
import { isExample, isUuid, looksLikePassword, looksRandom, patternsOf } from "./word-checks.ts";
import table from "./names.json" with { type: "json" };
import { countSlices, type Cut, type Page, type Slices } from "./redacted-lines.ts";

interface Kind {
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

/** Where a name may begin, by its first three characters (two outside Latin), case-insensitive. */
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
function openName(text: string): string | undefined {
  return is.openEnd.exec(text)?.[0];
}

function isName(text: string): boolean {
  return is.wholeName.test(text);
}

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

const farthest = 2;
const looked = 120;

/** Cuts secrets named on a line above: in YAML, JSON, Markdown and table columns. */
export function* cutNextLines(page: Page, signs: readonly number[]): Slices<void> {
  const { lines } = page;
  const isFull = countSlices();
  for (const [index, sign] of signs.entries()) {
    if ((sign & lineSigns.name) === 0) continue;
    const line = lines[index] ?? "";
    if (isFull(line)) yield;
    const name = opened(line);
    if (name !== undefined) cutBelow(page, index, name, is.block.test(line.slice(-looked)));
    else if (isRule(lines[index + 1])) cutColumns(page, index, index + 2, "|");
    else cutColumns(page, index, index + 1, separatorOf(line));
  }
}

function opened(line: string): { name: string; isPair: boolean } | undefined {
  const end = line.slice(-looked).replace(is.block, "");
  const [, paired] = is.nameOfPair.exec(end) ?? [];
  if (paired !== undefined && isName(paired)) return { name: `${paired}:`, isPair: true };
  const name = is.ending.test(end) && !is.redactedEnd.test(end) ? openName(end) : undefined;
  return name === undefined ? undefined : { name, isPair: false };
}

function cutBelow(
  page: Page,
  index: number,
  { name, isPair }: { name: string; isPair: boolean },
  isBlock: boolean,
): void {
  const { lines } = page;
  let at = index + 1;
  while (at <= index + farthest && is.between.test((lines[at] ?? "x").trim())) at++;
  const line = lines[at] ?? "";
  const [lead = ""] = (isPair ? is.valueOfPair : is.beforeValue).exec(line) ?? [];
  if (isPair && lead === "") return;
  if (!isPair && is.setting.test(line.slice(lead.length))) return;
  const indent = Math.max(indentOf(line), 1);
  if (!page.cut(at, findAs(name, line, lead.length)) || !isBlock) return;
  // A long one goes on, each line as far to the right.
  for (let next = at + 1; next < lines.length; next++) {
    const more = lines[next] ?? "";
    if (!is.word.test(more) || indentOf(more) < indent) break;
    page.cut(next, [{ start: 0, end: more.length }]);
  }
}

function cutColumns(page: Page, head: number, first: number, separator: string): void {
  const { lines } = page;
  const headings = (lines[head] ?? "").split(separator);
  if (headings.length < 2) return;
  const names = headings.map((heading) => heading.replaceAll(/[\s*`"]/g, " ").trim());
  const isNamed = names.map((name) => isName(name));
  if (!isNamed.includes(true)) return;
  for (let at = first; at < lines.length && !isRule(lines[at + 1]); at++) {
    const cells = (lines[at] ?? "").split(separator);
    // Where it ends, or the next one begins.
    if (cells.length !== headings.length) return;
    if (cells.some((cell, column) => isNamed[column] && isName(cell.trim()))) return;
    let start = 0;
    const cuts = cells.flatMap((cell, column) => {
      const from = start + cell.length - cell.trimStart().length;
      start += cell.length + separator.length;
      return isNamed[column]
        ? findAs(`${names[column]}:`, (lines[at] ?? "").slice(0, start - separator.length), from)
        : [];
    });
    page.cut(at, cuts);
  }
}

/** What is between the columns of a line of names, as files of passwords begin with; with nothing it is one column. */
function separatorOf(line: string): string {
  const separator = /[,;\t]/.exec(line)?.[0] ?? "\n";
  const cells = line.trim().split(separator);
  return cells.length > 2 && cells.every((cell) => /^"?[\w .-]{1,30}"?$/.test(cell)) ? separator : "\n";
}

function isRule(line = ""): boolean {
  return line.includes("---") && is.rule.test(line.trim());
}

function findAs(name: string, line: string, from: number): Cut[] {
  const before = `${name.trimEnd()} `;
  const move = from - before.length;
  return findNamed(before + line.slice(from))
    .filter(({ start }) => start >= before.length)
    .map(({ start, end, name: kind }) => ({ start: start + move, end: end + move, name: kind }));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
