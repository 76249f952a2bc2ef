import type { AgentConfig, Memory, MemslotConfig, OpenMemoryOptions } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { openMemory } from "../open-memory.ts";

/** Of closing a memory, before the process ends without it. */
export const CLOSE_DEADLINE_MS = 5000;

/**
 * Opens the memory of an agent, uses it and closes it. What a command prints it prints afterwards: then nothing is
 * left that could keep the process from ending.
 */
export async function withMemory<T>(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  use: (memory: Memory) => Promise<T>,
  {
    provider,
    ...how
  }: Pick<OpenMemoryOptions, "lookOnly" | "oneShot" | "rebuild" | "warm"> & { provider?: string } = {},
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

/** A command that wants a fresh index brings it up to date itself and shows how far it is; a search looks no second time. */
function syncedByCommand(config: MemslotConfig, provider: string | undefined): MemslotConfig {
  return {
    ...config,
    agent(agentId) {
      const agent = config.agent(agentId);
      const { memorySearch } = agent;
      const sync = { ...memorySearch.sync, onSearch: false, watch: false };
      const synced = { ...memorySearch, ...(provider !== undefined && { provider }), sync };
      // The agent stands behind it, as copying its fields would ask for the machine's time zone, which is slow.
      return Object.create(agent, { memorySearch: { value: synced, enumerable: true } }) as typeof agent;
    },
  };
}

/** An answer is worth more than a tidy end: a close that fails or hangs is told and not waited for. */
export async function closeInTime(context: CommandContext, memory: Memory): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`did not end within ${CLOSE_DEADLINE_MS / 1000} s`), CLOSE_DEADLINE_MS);
  });
  const problem = await Promise.race([memory.close().catch((error: unknown) => String(error)), late]);
  clearTimeout(timer);
  if (problem !== undefined) context.output.notice(`closing the memory: ${problem}`);
}
