import type { NotesSettings } from "./memory-roots.ts";

/** Names one note of a memory. */
interface NoteName {
  /** Canonical absolute path. */
  workspaceDir: string;
  settings: NotesSettings;
  stateDir: string;
  /** Relative to the workspace, with `/`. */
  relPath: string;
}

/**
 * The absolute path of a note that the memory reads, as it is spelled on the disk. Throws `PATH_NOT_ALLOWED` with the
 * reason for what is no Markdown, lies outside of the memory, or behind a link. Whether there is a file is not asked.
 */
export async function noteFile({ workspaceDir, settings, stateDir, relPath }: NoteName): Promise<string> {
  // Loaded when it is asked for: a host that writes no such note reads no rules of folders.
  const [{ allowedPath }, { memoryRoots }] = await Promise.all([import("./read-file.ts"), import("./memory-roots.ts")]);
  const roots = memoryRoots(workspaceDir, settings.extraPaths, { notes: settings.notes, stateDir }, settings.exclude);
  return allowedPath(relPath, roots, workspaceDir);
}
