import { isDigestOfOther } from "../flush/flush-digest.ts";
import { endOfEntry } from "../notes/note-entry.ts";

/** A log without the digests of conversations in other projects, and how many of its lines those are. */
export function withoutOtherProjects(text: string, project: string): { text: string; leftOut: number } {
  const lines = text.split("\n");
  const kept: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (isDigestOfOther(line, project)) index = endOfEntry(lines, index) - 1;
    else kept.push(line);
  }
  return { text: kept.join("\n"), leftOut: lines.length - kept.length };
}
