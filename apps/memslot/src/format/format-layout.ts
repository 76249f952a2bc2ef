import type { LeftOut } from "@memslot/core";
import type { ChosenLayout } from "@memslot/core/files";
import { counted } from "../open/report-failed-files.ts";

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
