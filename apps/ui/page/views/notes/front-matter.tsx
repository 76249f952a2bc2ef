import type { VNode } from "preact";
import { t } from "../../words/translate.ts";

const mostLines = 200;

/** The front matter between two lines `---` at the start of a note: its number of lines (0 without one) and its values. */
export function frontMatterOf(text: string): { lines: number; values: [name: string, value: string][] } {
  const [first, ...lines] = text.split("\n", mostLines);
  const end = lines.findIndex((line) => /^(?:---|\.\.\.)\s*$/u.test(line));
  if (first?.trimEnd() !== "---" || end < 0) return { lines: 0, values: [] };
  const values: [string, string][] = [];
  let name = "";
  for (const line of lines.slice(0, end)) {
    const named = /^([^\s:#-][^:]*):(?:\s+(.*))?$/u.exec(line);
    name = named?.[1] ?? name;
    // Before the first name there can be a comment.
    if (name === "") continue;
    // Indented lines and lists belong to the name above.
    const value = named === null ? line.trim().replace(/^- /u, "") : (named[2] ?? "").trim();
    const list = /^\[(.*)\]$/u.exec(value)?.[1]?.split(",") ?? [value];
    for (const each of list) values.push([name, each.trim().replace(/^(["'])(.*)\1$/u, "$2")]);
  }
  return { lines: end + 2, values: values.filter(([, value]) => value !== "") };
}

/** Names and values of the front matter, a chip for each. */
export function FrontMatter({ text }: { text: string }): VNode {
  return (
    <ul class="plain row front-matter" aria-label={t("notes.frontMatter")}>
      {frontMatterOf(text).values.map(([name, value]) => (
        <li key={`${name} ${value}`} class="chip">
          <span>{name}</span> <strong>{value}</strong>
        </li>
      ))}
    </ul>
  );
}
