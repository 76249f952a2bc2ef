import type { Workspace } from "./memory-roots.ts";

/**
 * The absolute path of a note that the memory reads, as it is spelled on the disk, by its path from the workspace. Throws `PATH_NOT_ALLOWED` with the
 * reason for what is no Markdown, lies outside of the memory, or behind a link. Whether there is a file is not asked.
 */
export async function noteFile(workspace: Workspace & { relPath: string }): Promise<string> {
  // Loaded when it is asked for: a host that writes no such note reads no rules of folders.
  const { allowedPath } = await import("./read-file.ts");
  return allowedPath(workspace.relPath, workspace);
}
