import { lineSigns } from "./line-signs.ts";
import { isName, openName, redactNamedSecrets } from "./redact-named-secrets.ts";
import { countSlices, type Slices } from "./slices.ts";

/** A value may stand so many empty or fenced lines below its name. */
const farthest = 2;
/** How much of the end of a line is looked at for a name. */
const looked = 120;
const between = /^(?:`{3}\w{0,20}|~{3}\w{0,20})?$/;
const block = /[|>][+-]?\d?\s*$/;
const beforeValue = /^[\s>]*(?:[-*+]\s)?["'`]{0,3}/;
const setting = /^["']?[\w-]+["']?\s?[:=](?:\s|$)/;
const valueOfPair = /^(\s*["']?value["']?\s?[:=]\s*)/i;
const nameOfPair = /\bname["']?\s?[:=]\s?["']?([\w.-]{2,60})["']?,?\s*$/i;
/** What may stand last on a line whose value is on the next. */
const ending = /(?:[:=：>是为為は는은]|\s(?:is|ist|lautet|est|es|é|è))[\s*_]{0,6}$/i;
/** A secret that was taken out says what it was, which names nothing on the next line. */
const redactedEnd = /\[redacted: [^\]]{1,40}\]\W{0,12}$/;
const word = /^\s*[!-~]+\s*$/;
const rule = /^\|?\s{0,9}:?-{3,200}:?\s{0,9}(?:\|\s{0,9}:?-{3,200}:?\s{0,9}){0,50}\|?$/;

/**
 * Takes out the secrets whose names stand on a line above: in YAML, JSON, Markdown and the columns of a table. Only
 * lines with the sign of a name are looked at.
 */
export function* redactNextLines(lines: readonly string[], signs: readonly number[]): Slices<readonly string[]> {
  if (!signs.some((sign) => (sign & lineSigns.name) !== 0)) return lines;
  const kept = [...lines];
  const isFull = countSlices();
  for (let index = 0; index < kept.length; index++) {
    if (((signs[index] ?? 0) & lineSigns.name) === 0) continue;
    const line = kept[index] ?? "";
    if (isFull(line)) yield;
    const name = opened(line);
    if (name !== undefined) redactBelow(kept, index, name, block.test(line.slice(-looked)));
    else if (isRule(kept[index + 1])) redactColumns(kept, { head: index, first: index + 2, between: "|" });
    else redactColumns(kept, { head: index, first: index + 1, between: separatorOf(line) });
  }
  return kept;
}

interface OpenName {
  name: string;
  isPair: boolean;
}

function opened(line: string): OpenName | undefined {
  const end = line.slice(-looked).replace(block, "");
  const [, paired] = nameOfPair.exec(end) ?? [];
  if (paired !== undefined && isName(paired)) return { name: `${paired}:`, isPair: true };
  const name = ending.test(end) && !redactedEnd.test(end) ? openName(end) : undefined;
  return name === undefined ? undefined : { name, isPair: false };
}

function redactBelow(lines: string[], index: number, { name, isPair }: OpenName, isBlock: boolean): void {
  let at = index + 1;
  while (at <= index + farthest && between.test((lines[at] ?? "x").trim())) at++;
  const line = lines[at] ?? "";
  const [lead = ""] = (isPair ? valueOfPair : beforeValue).exec(line) ?? [];
  if (isPair && lead === "") return;
  const rest = line.slice(lead.length);
  if (!isPair && setting.test(rest)) return;
  const clean = redactAs(name, rest);
  if (clean === rest) return;
  lines[at] = lead + clean;
  if (!isBlock) return;
  // A long one goes on, each line as far to the right.
  const indent = Math.max(indentOf(line), 1);
  for (let next = at + 1; next < lines.length; next++) {
    const more = lines[next] ?? "";
    if (!word.test(more) || indentOf(more) < indent) break;
    lines[next] = "";
  }
}

interface Columns {
  head: number;
  first: number;
  between: string;
}

/** The cells below a heading that is the name of a secret. */
function redactColumns(lines: string[], { head, first, between }: Columns): void {
  const headings = (lines[head] ?? "").split(between);
  const names = headings.map((heading) => heading.replaceAll(/[\s*`"]/g, " ").trim());
  if (headings.length < 2 || !names.some(isName)) return;
  for (let at = first; at < lines.length && !isRule(lines[at + 1]); at++) {
    const cells = (lines[at] ?? "").split(between);
    // Where it ends, or the next one begins.
    if (cells.length !== headings.length) return;
    if (cells.some((cell, column) => isName(names[column] ?? "") && isName(cell.trim()))) return;
    lines[at] = cells
      .map((cell, column) => (isName(names[column] ?? "") ? redactCell(names[column] ?? "", cell) : cell))
      .join(between);
  }
}

/** What is between the columns of a line of names, as files of passwords begin with; with nothing it is one column. */
function separatorOf(line: string): string {
  const separator = /[,;\t]/.exec(line)?.[0] ?? "\n";
  const cells = line.trim().split(separator);
  return cells.length > 2 && cells.every((cell) => /^"?[\w .-]{1,30}"?$/.test(cell)) ? separator : "\n";
}

function redactCell(name: string, cell: string): string {
  const lead = cell.length - cell.trimStart().length;
  return cell.slice(0, lead) + redactAs(`${name}:`, cell.slice(lead));
}

function isRule(line = ""): boolean {
  return line.includes("---") && rule.test(line.trim());
}

/** A value as it is redacted when its name stands before it. */
function redactAs(name: string, text: string): string {
  const before = `${name.trimEnd()} `;
  return redactNamedSecrets(before + text).slice(before.length);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
