/** What stands between two lines `---` at the beginning of a note. */
export interface FrontMatter {
  /** Lines that it takes, 0 where there is none. */
  lines: number;
  /** Names and what is written for them, as text. */
  rows: readonly (readonly [name: string, value: string])[];
}

const mostLines = 200;

/** Reads the names at the beginning of lines; what is indented or a list belongs to the name above it. */
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
