import type { HealthPart, UnsearchedFiles } from "@memslot/core";
import { counted } from "../open/report-failed-files.ts";

export function describeUnsearched({ files, more, folders }: UnsearchedFiles): string | undefined {
  if (files === 0) return undefined;
  const where = folders.length === 0 ? "" : ` (in ${folders.join(", ")}${more ? ", …" : ""})`;
  const count = `${more ? "more than " : ""}${counted(files, "Markdown file")}`;
  return `${count} below the workspace${where}: memorySearch.notes: "all" includes them`;
}

export function describeHealth({ state, reason }: HealthPart): string {
  const word = { unknown: "no known problem", empty: "no notes" }[String(state)] ?? state;
  return [word, reason].filter(Boolean).join(": ");
}
