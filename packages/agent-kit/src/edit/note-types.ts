// Public types stand apart from code whose types need Node: a program without these compiles against the package.
import type { MemorySearchSettings, Sentence } from "@memslot/core";

export interface NotePath {
  workspaceDir: string;
  relPath: string;
}

export interface NoteName extends NotePath {
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
  stateDir: string;
}

export interface NoteContent {
  /** All of it, with LF line ends and without a byte order mark. Secrets are not masked. */
  text: string;
  sha256: string;
  bytes: number;
  /** Time of the last save (ISO 8601). */
  modified: string;
  /** Why it cannot be replaced, in a sentence without its full stop. Absent if it can. */
  fixed?: string | undefined;
  /** The same, to show it in another language. */
  problem?: Sentence | undefined;
}

export interface ReplaceNoteOptions extends NoteName {
  /** The whole new text, with LF line ends. The file keeps its own line ends and its byte order mark. */
  text: string;
  /** `NoteContent.sha256` of the state that the text was made from. */
  sha256: string;
  signal?: AbortSignal | undefined;
}

/** `conflict`: the note has changed since, and nothing was written; `note` is its present state, if it exists. */
export type ReplacedNote =
  | { state: "replaced"; note: NoteContent }
  | { state: "conflict"; note: NoteContent | undefined };
