import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";

/** The state folder of one agent and one workspace: two workspaces cannot share an index. */
export function stateFolder(input: { stateDir: string; agentId: string; workspaceDir: string }): string {
  const { stateDir, agentId, workspaceDir } = input;
  return join(stateDir, "qmd", `${slug(agentId)}-${shortHash(`${agentId}\0${workspaceDir}`)}`);
}

export const indexFile = "index.sqlite";

export function hasIndex(folder: string): boolean {
  return statSync(join(folder, indexFile), { throwIfNoEntry: false }) !== undefined;
}

export function indexBytes(folder: string): number {
  const files = ["", "-wal"].map((ending) => join(folder, indexFile + ending));
  return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** A name that is valid in every file system, and in qmd as the name of a collection. */
export function slug(name: string): string {
  return (
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, "-")
      .replaceAll(/^-+|-+$/g, "")
      .slice(0, 40) || "x"
  );
}

export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
