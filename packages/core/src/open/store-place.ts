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
}

/** The place of a plugin's store. `workspaceDir` is canonical, so that one folder has one place. */
export function storePlaceOf(input: {
  stateDir: string;
  pluginId: string;
  agentId: string;
  workspaceDir: string;
}): StorePlace {
  const { stateDir, pluginId, agentId, workspaceDir } = input;
  // The ids are there for people; what tells one from the other is the mark.
  const name = `${readable(agentId)}-${markOf([agentId, workspaceDir])}`;
  const owner = readable(pluginId);
  return {
    folder: join(stateDir, "memory", owner === pluginId ? owner : `${owner}-${markOf([pluginId])}`, name),
    name,
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
