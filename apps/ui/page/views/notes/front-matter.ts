/** The front matter between two lines `---` at the start of a note. */
export interface FrontMatter {
  /** Its number of lines, 0 without one. */
  lines: number;
  /** Names and values as text. */
  rows: readonly (readonly [name: string, value: string])[];
}

const mostLines = 200;

/** Reads names at the start of lines; indented lines and lists belong to the name above. */
export function frontMatterOf(lines: readonly string[]): FrontMatter {
  const end = lines.slice(0, mostLines).findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/u.test(line));
  if (lines[0]?.trimEnd() !== "---" || end < 0) return { lines: 0, rows: [] };
  const rows: [string, string][] = [];
  for (const line of lines.slice(1, end)) {
    const [, name, value] = /^([^\s:#-][^:]*):(?:\s+(.*))?$/u.exec(line) ?? [];
    const last = rows.at(-1);
    if (name !== undefined) rows.push([name, (value ?? "").trim()]);
    else if (last !== undefined && line.trim() !== "")
      last[1] = [last[1], line.trim().replace(/^- /u, "")].filter(Boolean).join(", ");
  }
  return { lines: end + 1, rows };
}
