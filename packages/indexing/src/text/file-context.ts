import type { NoteHead } from "./note-head.ts";

/** What all of a file stands under and has with it. */
export interface FileContext {
  /** Outermost first, such as its day and its name. */
  above?: readonly string[];
  /** Such as its tags. */
  beside?: string;
  /** Lines at its beginning that are properties and no text, and whether they say something of their own. */
  head?: Pick<NoteHead, "lines" | "saysMore">;
}

/** Two spellings of one title are the same: `Heat_pump` and `Heat pump`. */
export function foldedTitle(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[\s_-]+/gu, " ")
    .trim();
}
