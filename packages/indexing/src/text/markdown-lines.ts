// No expression here may look at a line in more than one way: a line can be as long as a file.
const headingMarks = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const fenceMarks = /^ {0,3}(`{3,}|~{3,})/;

/** A `#` heading. Its title may be empty. */
export function headingOf(line: string): { level: number; title: string } | undefined {
  const match = headingMarks.exec(line);
  if (!match) return undefined;
  const title = line.slice(match[0].length).trim();
  let end = title.length;
  while (title[end - 1] === "#") end--;
  const closed = end === 0 || title[end - 1] === " " || title[end - 1] === "\t";
  return { level: match[1]?.length ?? 1, title: closed ? title.slice(0, end).trim() : title };
}

/** The level of a heading that is underlined with `===` or `---`. */
export function setextLevel(line: string, next: string): 1 | 2 | undefined {
  if (line.trim() === "" || /^\s*([-*+>|]|\d+[.)])/.test(line) || line.trim().length > 200) return undefined;
  if (/^=+\s*$/.test(next) && next.length > 1) return 1;
  return /^-{3,}\s*$/.test(next) ? 2 : undefined;
}

/** The marks that begin a code block and that its end has to repeat. */
export function startsFence(line: string): string | undefined {
  const match = fenceMarks.exec(line);
  // Back-ticks that come again in the same line are code inside a sentence.
  return match?.[1]?.startsWith("`") && line.includes("`", match[0].length) ? undefined : match?.[1];
}
