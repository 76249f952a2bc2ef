import { structuredPatch } from "diff";
import { redactLines } from "@memslot/indexing/host";
import type { FileChange } from "./plan.ts";

/** The lines that change, with three around them, as `diff -u` shows them. What looks like a secret is left out. */
export function diffOf({ file, after }: Pick<FileChange, "file" | "after">): string[] {
  const { hunks } = structuredPatch("", "", lines(file.text), lines(after), undefined, undefined, { context: 3 });
  return hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...redactLines(hunk.lines).map(shortened),
  ]);
}

const maxLength = 400;

/** Some clients keep all of their settings on one line. A secret that is cut off would not be known as one any more. */
function shortened(line: string): string {
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}

function lines(text: string | undefined): string {
  return (text ?? "").replace(/^\uFEFF/u, "").replaceAll("\r\n", "\n");
}
