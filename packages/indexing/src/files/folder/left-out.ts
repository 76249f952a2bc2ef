import type { Dirent } from "node:fs";
import type { LeftOut } from "@memslot/core";
import type { FolderRules } from "./folder-rules.ts";
import { isMarkdown } from "./markdown-name.ts";

/** Rules that somebody has written first. */
const order: readonly LeftOut["reason"][] = ["ignored", "hidden", "tool", "link", "other"];

/** Counts what a folder of notes leaves out. */
export interface LeftOutCount {
  add(reason: LeftOut["reason"], isFolder: boolean): void;
  /** Reasons that have come up, always in the same order. */
  counts(): LeftOut[];
}

export function createLeftOutCount(): LeftOutCount {
  const counted = new Map<LeftOut["reason"], LeftOut>();
  return {
    add(reason, isFolder) {
      const count = counted.get(reason) ?? { reason, files: 0, folders: 0 };
      counted.set(reason, count);
      count[isFolder ? "folders" : "files"] += 1;
    },
    counts: () => order.flatMap((reason) => counted.get(reason) ?? []),
  };
}

/** What in a folder of notes may be a note or hold some, and links, which are told of one by one; counts the rest. */
export function notesIn(entries: readonly Dirent[], rules: FolderRules, leftOut: LeftOutCount): Dirent[] {
  return entries.filter((entry) => {
    const isFolder = entry.isDirectory();
    // Most names of a large folder may be these: no rule is asked about them.
    if (!isFolder && !entry.isSymbolicLink() && !isMarkdown(entry.name)) {
      leftOut.add("other", false);
      return false;
    }
    const reason = rules.leavesOut(entry.name, isFolder);
    if (reason !== undefined) leftOut.add(reason, isFolder);
    else if (entry.isSymbolicLink()) leftOut.add("link", false);
    return reason === undefined;
  });
}
