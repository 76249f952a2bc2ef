import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts, MemoryFileList } from "@memslot/core";

/** `GET /api/notes` */
export interface NotesAnswer {
  /** Absent: the backend cannot tell. */
  list?: MemoryFileList | undefined;
  /** What of the workspace is memory, and what decided it. */
  layout: "agent" | "all";
  why: string;
  backend: string;
}

/** `GET /api/notes/file?path=…` */
export interface NoteAnswer {
  path: string;
  note: NoteContent;
  /** Absent: it is not indexed, or the backend cannot tell. */
  facts?: MemoryFileFacts | undefined;
}

/** `PUT /api/notes/file`. Answered with `SavedNote`, or with 409 and `NoteConflict`. */
export interface NoteChange {
  path: string;
  text: string;
  /** Of the state that the text was made from. */
  sha256: string;
}

export interface SavedNote {
  note: NoteContent;
}

/** What a 409 says beside its error: the note as it stands, if it does. */
export interface NoteConflict {
  note?: NoteContent | undefined;
}

/** `POST /api/notes/take-in` */
export interface TakeIn {
  /** Relative to the workspace; absent: everything, as in a folder of notes. */
  path?: string | undefined;
  /** False: says what would be changed, and changes nothing. */
  write: boolean;
}

export interface TakeInAnswer {
  file: string;
  /** Whether the file is made by it. */
  isNew: boolean;
  /** A file of the folder that is not trusted, which is left as it is. */
  untrusted?: string | undefined;
  key: string;
  value: string;
  before: string;
  after: string;
  /** False: the file says so already. */
  changes: boolean;
  written: boolean;
}
