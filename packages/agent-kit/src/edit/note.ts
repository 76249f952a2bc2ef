import type { MemorySearchSettings } from "@memslot/core";

/** Names one note of a memory. */
export interface NoteName {
  /** Where it may be a link, what that leads to counts. */
  workspaceDir: string;
  /** What of it is memory. */
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
  stateDir: string;
  /** Relative to the workspace, with `/`. */
  relPath: string;
}

/** A note as a person edits it. */
export interface NoteContent {
  /** All of it, with LF line ends and without a byte order mark. Secrets in it stand as they are. */
  text: string;
  /** Of its bytes, hexadecimal: names this very state of the file. */
  sha256: string;
  bytes: number;
  /** When it was saved last (ISO 8601). */
  modified: string;
  /** Why it cannot be replaced, in a sentence without its full stop. Absent where it can. */
  fixed?: string | undefined;
}
