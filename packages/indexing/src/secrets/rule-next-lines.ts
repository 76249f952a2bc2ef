import { lineSigns } from "./line-signs.ts";
import { type Cut, countSlices, type Page, type Slices } from "./page.ts";
import { findNamed, isName, openName } from "./rule-names.ts";
import { patternsOf } from "./patterns.ts";

const is = patternsOf("nextLines");

/** A value may stand so many empty or fenced lines below its name. */
const farthest = 2;
/** How much of the end of a line is looked at for a name. */
const looked = 120;

/**
 * Cuts out the secrets whose names stand on a line above: in YAML, JSON, Markdown and the columns of a table. Only lines
 * with the sign of a name are searched.
 */
export function* cutNextLines(page: Page, signs: readonly number[]): Slices<void> {
  const { lines } = page;
  const isFull = countSlices();
  for (const [index, sign] of signs.entries()) {
    if ((sign & lineSigns.name) === 0) continue;
    const line = lines[index] ?? "";
    if (isFull(line)) yield;
    const name = opened(line);
    if (name !== undefined) cutBelow(page, index, name, is.block.test(line.slice(-looked)));
    else if (isRule(lines[index + 1])) cutColumns(page, { head: index, first: index + 2, between: "|" });
    else cutColumns(page, { head: index, first: index + 1, between: separatorOf(line) });
  }
}

interface OpenName {
  name: string;
  isPair: boolean;
}

function opened(line: string): OpenName | undefined {
  const end = line.slice(-looked).replace(is.block, "");
  const [, paired] = is.nameOfPair.exec(end) ?? [];
  if (paired !== undefined && isName(paired)) return { name: `${paired}:`, isPair: true };
  const name = is.ending.test(end) && !is.redactedEnd.test(end) ? openName(end) : undefined;
  return name === undefined ? undefined : { name, isPair: false };
}

function cutBelow(page: Page, index: number, { name, isPair }: OpenName, isBlock: boolean): void {
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

interface Columns {
  head: number;
  first: number;
  between: string;
}

/** The cells below a heading that is the name of a secret. */
function cutColumns(page: Page, { head, first, between: separator }: Columns): void {
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

/** Finds secrets in a line from a place on, as if their name stood before it. */
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
