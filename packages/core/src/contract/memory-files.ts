import type { LeftOut, MemorySource } from "./status.ts";

/** A file of the memory, as the index has it. */
export interface MemoryFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  source: MemorySource;
  bytes: number;
  /** When it was saved, as it was read last (ISO 8601). Absent where that is not known. */
  modified?: string | undefined;
  /** Passages that it was cut into, of a note. */
  passages?: number | undefined;
  /** Its last line that can be found, of a note. */
  lines?: number | undefined;
  /** What its front matter or its first heading calls it. */
  title?: string | undefined;
  aliases?: readonly string[] | undefined;
  /** Without `#`. */
  tags?: readonly string[] | undefined;
  /** The first and the last day that it is of, by its name or its front matter: `2026-03-05`. */
  days?: readonly [from: string, to: string] | undefined;
}

/**
 * What lies in a folder of the memory or of the workspace and is not searched. `layout`: Markdown outside of what the
 * layout of the workspace takes. `excluded`: `memorySearch.exclude` names it. `failed`: it was to be taken and could not be. `pending`: the next sync takes it.
 */
export interface LeftOutFile {
  path: string;
  /** Nobody looks into a folder that is left out: it counts as one. */
  kind: "file" | "folder";
  reason: LeftOut["reason"] | "layout" | "excluded" | "failed" | "pending";
  /** What is wrong and what to do about it, where it was to be taken. */
  detail?: string | undefined;
}

/** Which files are searched, and which are not. */
export interface MemoryFileList {
  /** In the order of their paths, no more than were asked for. */
  files: readonly MemoryFile[];
  /** How many there are. */
  fileCount: number;
  /** Those that were to be taken first, then Markdown, then the rest; no more than were asked for. */
  leftOut: readonly LeftOutFile[];
  leftOutCount: number;
  /** True: the look at what is left out was ended before its end, there may be more. */
  more: boolean;
}

/** Lines of a note that are found together; passages may overlap. Lines are 1-based and inclusive. */
export interface MemoryPassage {
  startLine: number;
  endLine: number;
}

/** A link in a note: `[[Heat pump#Noise|the pump]]`, or `[the pump](../house/pump.md#noise)`. */
export interface NoteLink {
  line: number;
  kind: "wiki" | "markdown";
  /** As it is written, without the text that is shown: `Heat pump#Noise`. */
  target: string;
  /** The note that it leads to; absent where there is none. */
  path?: string | undefined;
  /** The heading in it. */
  heading?: string | undefined;
}

/** A link to a note. */
export interface NoteBacklink {
  path: string;
  line: number;
  /** The line, shortened. */
  text: string;
}

/** What the index knows of one note. */
export interface MemoryFileFacts {
  /** As the index writes it. */
  path: string;
  /** In their order, at most 2,000. */
  passages: readonly MemoryPassage[];
  passageCount: number;
  /** Links to notes, also where there is no such note; at most 500. Links to other places are none. */
  links: readonly NoteLink[];
  linkCount: number;
  /** From other notes, at most 500. */
  backlinks: readonly NoteBacklink[];
  backlinkCount: number;
}
