/** The smallest meaningful piece of a note: a list item, a table row, a paragraph, a line of code. */
export interface NoteUnit {
  startLine: number;
  endLine: number;
  /** As quoted: without list mark, with column names before table cells. */
  text: string;
  headings: readonly string[];
  /** Its context: parent list items, or the text before code. May be empty. */
  surroundings: string;
}

const fence = /^\s*(`{3,}|~{3,})/;
const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const item = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$/;
const thematicBreak = /^\s*([-*_])(\s*\1){2,}\s*$/;
const tableRow = /^\s*\|.*\|\s*$/;
const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

export function noteUnits(text: string, firstLine = 1): NoteUnit[] {
  const lines = text.split("\n");
  const units: NoteUnit[] = [];
  let headings: string[] = [];
  /** Possible parents of a deeper list item. */
  let parents: { indent: number; text: string }[] = [];
  let columns: string[] | undefined;
  let closing: string | undefined;
  let open: NoteUnit | undefined;
  let before = "";

  const add = (line: number, quoted: string, surroundings: string): NoteUnit => {
    const unit = { startLine: line, endLine: line, text: quoted, headings, surroundings };
    units.push(unit);
    return unit;
  };
  const textAbove = (): string => parents.map((parent) => parent.text).join(" ");

  for (let index = firstLine === 1 ? frontMatterEnd(lines) : 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? "").trimEnd();
    const number = firstLine + index;
    const fenced = fence.exec(line)?.[1];
    const [, marks = "", title] = heading.exec(line) ?? [];
    const [, space = "", itemText] = item.exec(line) ?? [];
    const isRow = tableRow.test(line);
    if (closing !== undefined) {
      if (fenced?.startsWith(closing)) closing = undefined;
      else if (line.trim() !== "") add(number, line.trim(), before);
    } else if (fenced !== undefined) {
      const last = units.at(-1);
      [closing, open, before] = [fenced, undefined, last?.headings === headings ? last.text : ""];
    } else if (title !== undefined) {
      headings = [...headings.slice(0, marks.length - 1), title];
      [parents, columns, open] = [[], undefined, undefined];
    } else if (line.trim() === "" || thematicBreak.test(line)) {
      [columns, open] = [undefined, undefined];
    } else if (isRow) {
      const cells = cellsOf(line);
      if (columns === undefined) columns = cells;
      else if (!tableRule.test(line)) add(number, withColumns(columns, cells), "");
      open = undefined;
    } else if (itemText !== undefined) {
      parents = parents.filter((parent) => parent.indent < space.length);
      open = add(number, itemText, textAbove());
      parents.push({ indent: space.length, text: itemText });
    } else if (open !== undefined) {
      open.text += ` ${line.trim()}`;
      open.endLine = number;
    } else {
      if (!/^\s/.test(line)) parents = [];
      open = add(number, line.trim(), textAbove());
    }
  }
  return units;
}

function frontMatterEnd(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== "---") return 0;
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line));
  return end === -1 ? 0 : end + 1;
}

function cellsOf(row: string): string[] {
  return row
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** A row is only readable with its column names. */
function withColumns(columns: readonly string[], cells: readonly string[]): string {
  return cells
    .flatMap((cell, index) => (cell === "" ? [] : columns[index] ? [`${columns[index]}: ${cell}`] : [cell]))
    .join(" · ");
}
