import type { MemorySearchResult } from "@memslot/core";
import type { ShownLine } from "../api/search.ts";

const gap = "…";

/** The lines of a result with their numbers. Those of a transcript have none of their own. */
export function shownLines({ snippet, startLine, endLine, lines, source }: MemorySearchResult): ShownLine[] {
  const ranges = lines ?? [[startLine, endLine] as const];
  const numbers = ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  const isNumbered = source !== "sessions" && source !== "journal";
  let at = 0;
  return snippet.split("\n").map((text): ShownLine => {
    if (text === gap) return { gap: true };
    const number = isNumbered ? numbers[at] : undefined;
    at += 1;
    return { gap: false, number, text };
  });
}
