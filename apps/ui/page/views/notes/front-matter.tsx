import type { VNode } from "preact";
import { t } from "../../words/translate.ts";

const mostLines = 200;

/** The front matter between two lines `---` at the start of a note: its number of lines (0 without one), names and values. */
export function frontMatterOf(text: string): { lines: number; rows: (readonly [name: string, value: string])[] } {
  const [first, ...lines] = text.split("\n", mostLines);
  const end = lines.findIndex((line) => /^(?:---|\.\.\.)\s*$/u.test(line));
  if (first?.trimEnd() !== "---" || end < 0) return { lines: 0, rows: [] };
  const rows: [string, string][] = [];
  // Indented lines and lists belong to the name above.
  for (const line of lines.slice(0, end)) {
    const [, name, value = ""] = /^([^\s:#-][^:]*):(?:\s+(.*))?$/u.exec(line) ?? [];
    const last = rows.at(-1);
    if (name !== undefined) rows.push([name, value.trim()]);
    else if (last !== undefined && line.trim() !== "")
      last[1] = [last[1], line.trim().replace(/^- /u, "")].filter(Boolean).join(", ");
  }
  return { lines: end + 2, rows };
}

/** The values of a list `[a, "b"]`. */
function partsOf(value: string): string[] {
  const list = /^\[(.*)\]$/u.exec(value)?.[1];
  if (list === undefined) return [value];
  return list.split(",").map((part) => part.trim().replace(/^(["'])(.*)\1$/u, "$2"));
}

/** Names and values of the front matter, a chip for each. */
export function FrontMatter({ text }: { text: string }): VNode | null {
  const { rows } = frontMatterOf(text);
  if (rows.length === 0) return null;
  return (
    <ul class="plain row front-matter" aria-label={t("notes.frontMatter")}>
      {rows.flatMap(([name, value]) =>
        partsOf(value).map((part) => (
          <li key={`${name} ${part}`} class="chip">
            <span>{name}</span> <strong>{part}</strong>
          </li>
        )),
      )}
    </ul>
  );
}
