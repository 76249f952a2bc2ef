import { nameFromVisible } from "@memslot/core";
import { parseCitation } from "@memslot/agent-kit";
import { UsageError } from "../terminal/usage-error.ts";

/** What `memory get` was asked for. */
export interface CitationPath {
  path: string;
  /** First line, 1-based. */
  from?: number | undefined;
  /** Number of lines. */
  lines?: number | undefined;
}

/**
 * Takes a path as people copy it out of a result: `path`, `path#L3` or `path#L3-L9`. What follows a `#` and is no line
 * range belongs to the name of the file.
 */
export function parseCitationPath(text: string): CitationPath {
  const citation = parseCitation(text);
  if (citation !== undefined) {
    const { path, startLine, endLine } = citation;
    return { path: nameFromVisible(path), from: startLine, lines: endLine - startLine + 1 };
  }
  if (!/#L\d+(?:-L?\d+)?$/u.test(text)) return { path: nameFromVisible(text) };
  throw new UsageError(
    `${text}: lines are counted from 1, and a range ends where it begins or later, as in notes.md#L3-L9`,
  );
}
