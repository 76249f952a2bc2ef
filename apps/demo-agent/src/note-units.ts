/** The smallest piece of a note that makes sense by itself: a list item, a table row, a paragraph, a line of code. */
export interface NoteUnit {
  /** 1-based, inclusive. */
  startLine: number;
  endLine: number;
  /** As it is quoted: without list mark, with the column names in front of table cells. */
  text: string;
  /** The headings that it stands under, outermost first. */
  headings: readonly string[];
  /** What has to be known to understand it: the list items above it, the text before a piece of code. May be empty. */
  surroundings: string;
}

const fence = /^\s*(`{3,}|~{3,})/;
const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const item = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$/;
const thematicBreak = /^\s*([-*_])(\s*\1){2,}\s*$/;
const tableRow = /^\s*\|.*\|\s*$/;
const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** Takes a note, or a window of one that begins at `firstLine`, apart. */
export function noteUnits(text: string, firstLine = 1): NoteUnit[] {
  const lines = text.split("\n");
  const units: NoteUnit[] = [];
  const headings: string[] = [];
  /** List items that a deeper one may stand under. */
  let parents: { indent: number; text: string }[] = [];
  let columns: string[] | undefined;
  let closing: string | undefined;
  let lastText = "";
  let open: { unit: NoteUnit; indent: number } | undefined;

  const add = (line: number, quoted: string, surroundings: string): NoteUnit => {
    const unit = { startLine: line, endLine: line, text: quoted, headings: [...headings], surroundings };
    units.push(unit);
    lastText = quoted;
    return unit;
  };

  for (let index = firstLine === 1 ? frontMatterEnd(lines) : 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? "").trimEnd();
    const number = firstLine + index;
    const fenced = fence.exec(line)?.[1];
    if (closing !== undefined) {
      if (fenced?.startsWith(closing)) closing = undefined;
      else if (line.trim() !== "") add(number, line.trim(), open?.unit.text ?? "");
      continue;
    }
    if (fenced !== undefined) {
      closing = fenced;
      open = {
        unit: { startLine: number, endLine: number, text: lastText, headings: [], surroundings: "" },
        indent: 0,
      };
      continue;
    }
    const [, marks, title] = heading.exec(line) ?? [];
    if (marks !== undefined && title !== undefined) {
      headings.length = Math.min(headings.length, marks.length - 1);
      headings.push(title);
      [parents, columns, open, lastText] = [[], undefined, undefined, ""];
      continue;
    }
    if (line.trim() === "" || thematicBreak.test(line)) {
      columns = undefined;
      open = undefined;
      continue;
    }
    if (tableRow.test(line)) {
      const cells = cellsOf(line);
      if (columns === undefined) columns = cells;
      else if (!tableRule.test(line)) add(number, withColumns(columns, cells), "");
      open = undefined;
      continue;
    }
    const [, space, itemText] = item.exec(line) ?? [];
    if (space !== undefined && itemText !== undefined) {
      const indent = space.length;
      parents = parents.filter((parent) => parent.indent < indent);
      open = { unit: add(number, itemText, parents.map((parent) => parent.text).join(" ")), indent };
      parents.push({ indent, text: itemText });
      continue;
    }
    if (open !== undefined) {
      open.unit.text += ` ${line.trim()}`;
      open.unit.endLine = number;
      lastText = open.unit.text;
      continue;
    }
    if (!/^\s/.test(line)) parents = [];
    open = { unit: add(number, line.trim(), parents.map((parent) => parent.text).join(" ")), indent: 0 };
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

/** A row by itself is a riddle; with its columns' names it can be read. */
function withColumns(columns: readonly string[], cells: readonly string[]): string {
  return cells
    .flatMap((cell, index) => (cell === "" ? [] : columns[index] ? [`${columns[index]}: ${cell}`] : [cell]))
    .join(" · ");
}
