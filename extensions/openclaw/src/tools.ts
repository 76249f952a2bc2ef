import { type MemoryTool, createMemoryTools } from "@memslot/agent-kit";
import { messageOf } from "@memslot/core";
import { citationsOf, defaultAgentOf } from "./config.ts";
import type { HostApi, HostConfig, HostTool, HostToolContext } from "./host.ts";
import type { Memories } from "./memories.ts";

/** What the host offers under each of these names. It writes notes itself, with `write`. */
export const toolNames = ["memory_search", "memory_get"] as const;

const labels = { memory_search: "Memory Search", memory_get: "Memory Get" };

/** The tool for one run of an agent; null if memory is off. Without a session key the audience is a group. */
export function hostTool(
  api: HostApi,
  memories: Memories,
  name: (typeof toolNames)[number],
  context: HostToolContext,
): HostTool | null {
  const config = configOf(api, context);
  const agentId = context.agentId ?? agentIn(context.sessionKey) ?? defaultAgentOf(config);
  try {
    if (memories.offReason(config, agentId) !== undefined) return null;
    return shown(toolOf({ config, agentId, sessionKey: context.sessionKey?.trim() || `agent:${agentId}:unknown` }));
  } catch (error) {
    // Report errors in each call instead of ending the run.
    const [tool] = createMemoryTools({
      memory: undefined,
      unavailable: { error },
      citations: "off",
      append: false,
    }).filter((each) => each.name === name);
    api.logger.warn(`memslot: ${messageOf(error)}`);
    return tool === undefined ? null : shown(tool);
  }

  function toolOf(of: { config: HostConfig; agentId: string; sessionKey: string }): MemoryTool {
    const memory = memories.lazy(of.config, of.agentId);
    const tools = createMemoryTools({
      memory,
      citations: citationsOf(of.config),
      sessionKey: of.sessionKey,
      append: false,
    });
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    return tool;
  }

  function shown({ description, inputSchema, execute }: MemoryTool): HostTool {
    return {
      name,
      label: labels[name],
      description,
      parameters: inputSchema,
      execute: async (_callId, input, signal) => {
        const details = await execute(input, { signal });
        return { content: [{ type: "text", text: JSON.stringify(details, undefined, 2) }], details };
      },
    };
  }
}

/** The configuration as it is now: that of the run, else that of the host. */
export function configOf(api: HostApi, context: HostToolContext = {}): HostConfig {
  const ofRun = context.getRuntimeConfig?.() ?? context.runtimeConfig ?? context.config;
  return ofRun ?? api.runtime.config?.current?.() ?? api.config;
}

function agentIn(sessionKey: string | undefined): string | undefined {
  const [first, agentId] = sessionKey?.split(":") ?? [];
  return first === "agent" ? agentId : undefined;
}
