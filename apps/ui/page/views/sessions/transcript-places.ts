import { pathWith } from "../../state/ask.ts";
import { citationIn, noteHref } from "../notes/note-places.ts";

/** The address of a transcript on this page, at one of its lines where that is given by its first byte. */
export function transcriptHref(path: string, from?: number): string {
  return pathWith("/sessions", { file: path, from });
}

/** The address of a place in the notes, as results cite it; undefined for what is none. */
export function citedHref(citation: string): string | undefined {
  const { path, line } = citationIn(citation) ?? {};
  if (path === undefined || /^(?:sessions|journal)\//u.test(path)) return undefined;
  return noteHref(path, { line });
}
