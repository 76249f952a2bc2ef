import { createHash } from "node:crypto";
import { join } from "node:path";

/** Where a plugin may keep what it derives from the notes of one agent in one workspace. */
export interface StorePlace {
  /** Absolute. No other plugin, agent or workspace is given it. It need not be there yet. */
  folder: string;
  /**
   * The same for the agent and the workspace at each opening, and for no other two of them: where one folder, bucket or
   * database holds the indexes of many, it names the one. Small letters, digits, `-` and `_`, at most 64 of them.
   */
  name: string;
  /**
   * The same where several machines share the place: it follows from the agent and the id of the workspace, wherever
   * that is on each machine. The same as `name` for a workspace without an id. Like a name of a file.
   */
  sharedName: string;
}

/** The place of a plugin's store. `workspaceDir` is canonical, so that one folder has one place. */
export function storePlaceOf(input: {
  stateDir: string;
  pluginId: string;
  agentId: string;
  workspaceDir: string;
  settings?: { readonly workspaceId: string | undefined } | undefined;
}): StorePlace {
  const { stateDir, pluginId, agentId, workspaceDir, settings } = input;
  const workspaceId = settings?.workspaceId;
  // The ids are there for people; what tells one from the other is the mark.
  const name = `${readable(agentId)}-${markOf([agentId, workspaceDir])}`;
  const owner = readable(pluginId);
  return {
    folder: join(stateDir, "memory", owner === pluginId ? owner : `${owner}-${markOf([pluginId])}`, name),
    name,
    sharedName:
      workspaceId === undefined ? name : `${readable(agentId)}-${markOf([agentId, "workspace", workspaceId])}`,
  };
}

/** What every file system and every database takes for a name, and takes for the same one. */
function readable(id: string): string {
  return (
    id
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, "-")
      .slice(0, 40) || "_"
  );
}

function markOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
