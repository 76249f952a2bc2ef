import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts, MemoryFileList } from "@memslot/core";

export interface NotesAnswer {
  /** Absent: unknown to the backend. */
  list?: MemoryFileList | undefined;
  /** Which files are memory, and why. */
  layout: "agent" | "all";
  why: string;
  backend: string;
}

export interface NoteAnswer {
  path: string;
  note: NoteContent;
  /** Absent: not indexed, or unknown to the backend. */
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

/** In a 409: the current note, if it exists. */
export interface NoteConflict {
  note?: NoteContent | undefined;
}

export interface TakeIn {
  /** Relative to the workspace; absent: all of it. */
  path?: string | undefined;
  /** False: a dry run. */
  write: boolean;
}

export interface TakeInAnswer {
  file: string;
  /** Whether the file is created. */
  isNew: boolean;
  /** An untrusted file of the folder, which is not changed. */
  untrusted?: string | undefined;
  key: string;
  value: string;
  before: string;
  after: string;
  /** False: the file has these settings already. */
  changes: boolean;
  written: boolean;
}
