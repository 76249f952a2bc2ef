import { createHash } from "node:crypto";
import { join } from "node:path";

/** Where the files of one agent and one workspace are kept: two workspaces cannot share an index. */
export function stateFolder(input: { stateDir: string; agentId: string; workspaceDir: string }): string {
  const { stateDir, agentId, workspaceDir } = input;
  return join(stateDir, "qmd", `${slug(agentId)}-${shortHash(`${agentId}\0${workspaceDir}`)}`);
}

/** A name that every file system, and qmd as the name of a collection, takes. */
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
