import type { NoteContent } from "../notes/note-content.ts";
import type { NoteName } from "../notes/note-name.ts";
import type { Changer, NoteChangeRecord } from "./change-log.ts";

/** Where notes are changed, and by whom. */
export interface ChangePlace extends Omit<NoteName, "relPath"> {
  changer: Changer;
  /** The moment of the change. */
  at: Date;
  signal?: AbortSignal | undefined;
}

/** `unchanged`: the note says so already. `conflict` as in `ReplacedNote`. */
export type MadeChange =
  | { state: "done"; change: NoteChangeRecord; note: NoteContent }
  | { state: "unchanged" | "conflict"; note: NoteContent | undefined };
