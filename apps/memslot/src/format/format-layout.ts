import type { LeftOut } from "@memslot/core";
import type { ChosenLayout } from "@memslot/core/files";
import { counted } from "../open/report-failed-files.ts";

const reasons: Readonly<Record<LeftOut["reason"], string>> = {
  ignored: "named by .gitignore",
  hidden: "hidden by a dot",
  tool: "folders of tools",
  link: "links",
  other: "not Markdown (.md, .markdown, .mdx)",
};

/** Which files of a workspace are memory, and why. */
export function describeLayout({ layout, why }: ChosenLayout): string {
  return layout === "all"
    ? `a folder of notes: all Markdown below the workspace (${why})`
    : `the layout of an agent: MEMORY.md, USER.md and memory/ (${why})`;
}

/** What a folder of notes leaves out, in one line; undefined where it is nothing. */
export function describeLeftOut(leftOut: readonly LeftOut[]): string | undefined {
  const parts = leftOut.map(({ reason, files, folders }) => {
    const counts = [folders > 0 ? counted(folders, "folder") : "", files > 0 ? counted(files, "file") : ""];
    return `${reasons[reason]}: ${counts.filter((count) => count !== "").join(" and ")}`;
  });
  return parts.length === 0 ? undefined : parts.join("; ");
}
