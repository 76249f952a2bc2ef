import { memoryPromptSection } from "@memslot/agent-kit";
import { messageOf } from "@memslot/core";
import { registerCommands } from "./commands.ts";
import { besideMemoryCoreNotice, isBesideMemoryCore, citationsOf } from "./config.ts";
import { flushPlan } from "./flush-plan.ts";
import type { HostApi, HostConfig } from "./host.ts";
import { type HostManager, hostManager } from "./manager.ts";
import { createMemories } from "./memories.ts";
import { configOf, hostTool, toolNames } from "./tools.ts";

/** A plugin of OpenClaw, as the host loads it. */
export interface HostPlugin {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  register(api: HostApi): void;
}

const plugin: HostPlugin = {
  id: "memslot",
  name: "memslot",
  description: "Searches MEMORY.md and memory/ by words and meaning, also without a key",
  register(api) {
    const memories = createMemories(api);
    let hasWarned = false;
    api.registerMemoryCapability({
      deterministicRecallToolName: "memory_search",
      promptBuilder: ({ availableTools }: { availableTools: Set<string> }) => {
        // Not during registration: the host may only be listing commands.
        if (!hasWarned && isBesideMemoryCore(api)) api.logger.warn(`memslot: ${besideMemoryCoreNotice}`);
        hasWarned = true;
        // The host's own tools write notes, so `memory_append` is not registered.
        const known = new Set(toolNames.filter((name) => availableTools.has(name)));
        return memoryPromptSection({ availableTools: known, citations: citationsOf(configOf(api)) });
      },
      flushPlanResolver: flushPlan,
      runtime: {
        getMemorySearchManager: async ({ cfg, agentId, purpose }: ManagerRequest) => {
          try {
            const reason = memories.offReason(cfg, agentId);
            if (reason !== undefined) return { manager: null, error: `memory is disabled: ${reason}` };
            // Sessions of a host share a memory; it is closed with the host.
            const manager =
              purpose === "cli"
                ? await forCommand(cfg, agentId)
                : hostManager(await memories.open(cfg, agentId), async () => undefined);
            return { manager, debug: { backend: "builtin", purpose } };
          } catch (error) {
            return { manager: null, error: messageOf(error) };
          }
        },
        resolveMemoryBackendConfig: () => ({ backend: "builtin" }),
        // Otherwise the host treats MEMORY.md as untrusted and drops it from the context.
        classifyWorkspaceMemoryPaths: ({ relativePaths }: { relativePaths: string[] }) =>
          Promise.resolve(relativePaths.map((relativePath) => ({ relativePath, originClass: "agent" }))),
        closeMemorySearchManager: ({ agentId }: { agentId: string }) => memories.close(agentId),
        closeAllMemorySearchManagers: () => memories.close(),
      },
    });
    for (const name of toolNames)
      api.registerTool((context) => hostTool(api, memories, name, context), { names: [name] });
    registerCommands(api, memories);

    async function forCommand(config: HostConfig, agentId: string): Promise<HostManager> {
      const memory = await memories.openOnce(config, agentId, (line) => api.logger.warn(`memslot: ${line}`));
      return hostManager(memory, () => memory.close());
    }
  },
};

export default plugin;

interface ManagerRequest {
  cfg: HostConfig;
  agentId: string;
  purpose?: "default" | "status" | "cli";
}
