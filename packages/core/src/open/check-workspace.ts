import { opendir, realpath, stat } from "node:fs/promises";
import { format, join, parse } from "node:path";
import { markOfWorkspace } from "../config/agent-settings.ts";
import { sha256Of } from "../config/agent-ids.ts";
import { canonicalPath } from "../config/paths.ts";
import type { AgentConfig, MemorySearchSettings } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { StorePlace } from "../contract/plugin.ts";
import { codeOf } from "../files/error-code.ts";

export async function checkWorkspace(folder: string): Promise<string> {
  try {
    const canonical = await realpath(folder);
    if (!(await stat(canonical)).isDirectory())
      throw new MemoryError(
        "WORKSPACE",
        `the workspace ${folder} is not a folder; name the folder that holds MEMORY.md and memory/`,
      );
    await (await opendir(canonical)).close();
    return canonical;
  } catch (error) {
    if (MemoryError.is(error)) throw error;
    const missing = codeOf(error) === "ENOENT";
    const what = missing
      ? "does not exist; name the folder with your notes (`--workspace .` for the current one), or run `memslot init` to make one"
      : `cannot be read: ${messageOf(error)}`;
    throw new MemoryError("WORKSPACE", `the workspace ${folder} ${what}`, { cause: error });
  }
}

/** The settings of an agent for another workspace, with an index of its own. */
export function settingsFor(agent: AgentConfig, workspaceDir: string): MemorySearchSettings {
  const { memorySearch: settings } = agent;
  if ((canonicalPath(agent.workspaceDir) ?? agent.workspaceDir) === workspaceDir) return settings;
  const { dir, name, ext } = parse(settings.store.path);
  return {
    ...settings,
    workspaceId: undefined,
    store: { ...settings.store, path: format({ dir, name: `${name}${markOfWorkspace(workspaceDir)}`, ext }) },
  };
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
  // The ids are for people; the hash makes the name unique.
  const name = `${readable(agentId)}-${markOf([agentId, workspaceDir])}`;
  const owner = readable(pluginId);
  return {
    folder: join(stateDir, "memory", owner === pluginId ? owner : `${owner}-${markOf([pluginId])}`, name),
    name,
    sharedName:
      workspaceId === undefined ? name : `${readable(agentId)}-${markOf([agentId, "workspace", workspaceId])}`,
  };
}

function readable(id: string): string {
  return (
    id
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, "-")
      .slice(0, 40) || "_"
  );
}

function markOf(parts: readonly string[]): string {
  return sha256Of(JSON.stringify(parts)).slice(0, 16);
}
