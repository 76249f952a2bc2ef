import { pathWith } from "../../state/ask.ts";
import { citationIn, noteHref } from "../notes/note-places.ts";

/** The address of a transcript, at the line with this first byte. */
export function transcriptHref(path: string, from?: number): string {
  return pathWith("/sessions", { file: path, from });
}

/** The address of a citation; undefined if it is none. */
export function citedHref(citation: string): string | undefined {
  const { path, line } = citationIn(citation) ?? {};
  if (path === undefined || /^(?:sessions|journal)\//u.test(path)) return undefined;
  return noteHref(path, { line });
}
