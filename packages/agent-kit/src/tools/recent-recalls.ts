import { withoutListMark } from "../notes/note-text.ts";
import { formatCitation } from "../citations.ts";

/** A text that came out of memory, with its place. */
interface RecalledText {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

/** What the tools have given a model lately, so that it does not become memory a second time. */
export interface RecentRecalls {
  /** The texts of one answer. */
  keep(texts: readonly RecalledText[]): void;
  /**
   * The latest place in the file `path` whose text holds all of this one; undefined also for what is too short to tell.
   * What was recalled from another file, such as the log of another day, may be written down here on purpose.
   */
  holding(text: string, path: string): (Omit<RecalledText, "text"> & { citation: string }) | undefined;
}

/** A shorter text may be the same by chance. */
const minLength = 40;

export function createRecentRecalls(limit = 50): RecentRecalls {
  const recalls: (readonly RecalledText[])[] = [];
  return {
    keep: (texts) => {
      if (texts.length === 0) return;
      recalls.unshift(texts.map((recalled) => ({ ...recalled, text: flat(recalled.text) })));
      recalls.length = Math.min(recalls.length, limit);
    },
    holding: (given, target) => {
      const wanted = flat(given);
      if (wanted.length < minLength) return undefined;
      const found = recalls.flat().find((recall) => recall.path === target && recall.text.includes(wanted));
      if (found === undefined) return undefined;
      const { path, startLine, endLine } = found;
      return { path, startLine, endLine, citation: formatCitation(found) };
    },
  };
}

/** A text as it is compared: on one line, spelled in one way, without the mark of a list item. */
export function flat(text: string): string {
  return withoutListMark(text.normalize("NFC").replaceAll(/\s+/g, " ").trim());
}
