import { configReference } from "@memslot/core";

const start = "<!-- keys:start -->";
const end = "<!-- keys:end -->";

/** The page with its table of keys made anew from the one table in the code. */
export function withConfigTable(page: string): string {
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/configuration.md needs the marks ${start} and ${end}`);
  const rows = configReference().map(
    (row) => `| ${[`\`${row.key}\``, row.type, code(row.default), row.doc].map(cell).join(" | ")} |`,
  );
  const table = ["| key | value | default | |", "| --- | --- | --- | --- |", ...rows].join("\n");
  return `${page.slice(0, from + start.length)}\n\n${table}\n\n${page.slice(to)}`;
}

function code(value: string): string {
  return value === "" ? "" : `\`${value}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
