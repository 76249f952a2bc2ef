import type { IndexCheck, IndexFinding } from "@memslot/core";
import { byteSize } from "./byte-size.ts";
import type { Output } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";
import { table } from "./table.ts";

export interface FormatCheckOptions {
  /** What was wrong was to be mended. */
  fix: boolean;
  style: Output["style"];
}

/** What a check of the index has shown, for people: a line for each finding, then the tables with their sizes. */
export function formatCheck({ ok, findings, tables = [] }: IndexCheck, { fix, style }: FormatCheckOptions): string[] {
  const width = Math.max(0, ...findings.map(({ name }) => name.length));
  const lines = findings.map((finding) => {
    const { word, colour } = outcomeOf(finding);
    const message = [finding.message, finding.fixed].filter((part) => part !== undefined).join("; ");
    return `${style(colour, word.padEnd(6))} ${finding.name.padEnd(width)}  ${printable(message)}`;
  });
  if (!ok)
    lines.push(
      fix ? "Delete the index file: it is made anew from the notes." : "memslot memory status --fix mends it.",
    );
  return [...block("Index check", lines), ...block("Tables", tableLines(tables))];
}

function outcomeOf({ ok, fixed }: IndexFinding): { word: string; colour: "green" | "yellow" | "red" } {
  if (!ok) return { word: "wrong", colour: "red" };
  return fixed === undefined ? { word: "ok", colour: "green" } : { word: "mended", colour: "yellow" };
}

function tableLines(tables: NonNullable<IndexCheck["tables"]>): string[] {
  const rows = tables.map(({ name, bytes }) => [name, byteSize(bytes)]);
  return table(["", ""], rows, { right: [1] })
    .split("\n")
    .slice(1);
}

function block(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}
