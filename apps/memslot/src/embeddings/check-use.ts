import { type AgentConfig, type MemslotConfig, MemoryError, checkWorkspace, resolveMemorySlot } from "@memslot/core";
import { findPlugins } from "../plugins/survey.ts";

/**
 * Looks whether vectors would be of use to these agents, before anything is fetched for them. Throws `CONFIG` where a
 * setting or the backend has none, and `WORKSPACE` where there are no notes to be read.
 */
export async function checkUse(config: MemslotConfig, agents: readonly AgentConfig[]): Promise<void> {
  const { known, missing } = await findPlugins(config);
  const decision = resolveMemorySlot(config, known, missing);
  if (decision.state === "selected" && decision.plugin.features?.includes("vector") === false)
    throw new MemoryError(
      "CONFIG",
      `"${decision.plugin.id}", which is in the memory slot, does not search with the vectors of a provider (memslot plugins info ${decision.plugin.id} says what it does); for this model choose another one: memslot plugins use memory-core`,
    );
  for (const { id, memorySearch, workspaceDir } of agents) {
    if (!memorySearch.query.hybrid.enabled)
      throw new MemoryError(
        "CONFIG",
        `memorySearch.query.hybrid.enabled is false for agent "${id}", which is words alone whatever the provider is; take it out of ${config.file ?? "the configuration"} first`,
      );
    await checkWorkspace(workspaceDir);
  }
}
