import type { LeftOut, HealthPart, UnsearchedFiles } from "@memslot/core";
import type { ChosenLayout } from "@memslot/core/files";
import { counted } from "../open/scan-summary.ts";

const reasons: Readonly<Record<LeftOut["reason"], string>> = {
  ignored: "ignored by .gitignore",
  hidden: "hidden",
  tool: "tool folders",
  link: "links",
  other: "not Markdown (.md, .markdown, .mdx)",
};

export function describeLayout({ layout, why }: ChosenLayout): string {
  return layout === "all"
    ? `folder of notes: all Markdown below the workspace (${why})`
    : `agent layout: MEMORY.md, USER.md and memory/ (${why})`;
}

/** What a folder of notes excludes, in one line; undefined if nothing. */
export function describeLeftOut(leftOut: readonly LeftOut[]): string | undefined {
  const parts = leftOut.map(({ reason, files, folders }) => {
    const counts = [folders > 0 ? counted(folders, "folder") : "", files > 0 ? counted(files, "file") : ""];
    return `${reasons[reason]}: ${counts.filter((count) => count !== "").join(" and ")}`;
  });
  return parts.length === 0 ? undefined : parts.join("; ");
}

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
