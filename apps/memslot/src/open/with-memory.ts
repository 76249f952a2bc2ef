import type { AgentConfig, Memory, MemslotConfig, OpenMemoryOptions } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { openMemory } from "../open-memory.ts";

/** Deadline for closing a memory. */
export const CLOSE_DEADLINE_MS = 5000;

/** Opens the memory of an agent, uses it and closes it. Commands print afterwards. */
export async function withMemory<T>(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  use: (memory: Memory) => Promise<T>,
  {
    provider,
    ...how
  }: Pick<OpenMemoryOptions, "readOnly" | "oneShot" | "rebuild" | "warm"> & { provider?: string } = {},
): Promise<T> {
  const memory = await openMemory({
    config: syncedByCommand(config, provider),
    agentId: agent.id,
    workspaceDir: agent.workspaceDir,
    projectDir: context.cwd,
    notify: (line) => context.output.notice(line),
    signal: context.signal,
    ...how,
  });
  try {
    return await use(memory);
  } finally {
    await closeInTime(context, memory);
  }
}

/** Commands sync the index themselves, with progress, so searches do not sync again. */
function syncedByCommand(config: MemslotConfig, provider: string | undefined): MemslotConfig {
  return {
    ...config,
    agent(agentId) {
      const agent = config.agent(agentId);
      const { memorySearch } = agent;
      const sync = { ...memorySearch.sync, onSearch: false, watch: false };
      const synced = { ...memorySearch, ...(provider !== undefined && { provider }), sync };
      // Inherits from the agent: copying its fields would read the time zone, which is slow.
      return Object.create(agent, { memorySearch: { value: synced, enumerable: true } }) as typeof agent;
    },
  };
}

/** Closes the memory. A close that fails or takes too long is reported and not awaited. */
export async function closeInTime(context: CommandContext, memory: Memory): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`did not end within ${CLOSE_DEADLINE_MS / 1000} s`), CLOSE_DEADLINE_MS);
  });
  const problem = await Promise.race([memory.close().catch((error: unknown) => String(error)), late]);
  clearTimeout(timer);
  if (problem !== undefined) context.output.notice(`closing the memory: ${problem}`);
}
