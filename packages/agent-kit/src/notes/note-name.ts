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
