import {
  type AgentConfig,
  type Memory,
  type MemslotConfig,
  type OpenMemoryOptions,
  type SyncReport,
  visibleName,
} from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { openMemory } from "../open-memory.ts";
import { isInShellOfAgent, withoutAgentKeys } from "./choose-agents.ts";
import { createProgress, reportFirstIndex } from "../terminal/progress.ts";

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
  const notify = (line: string): void => context.output.notice(line);
  const own = isInShellOfAgent(context.env) ? withoutAgentKeys(config, agent, notify) : config;
  const memory = await openMemory({
    config: syncedByCommand(own, provider),
    agentId: agent.id,
    workspaceDir: agent.workspaceDir,
    projectDir: context.cwd,
    notify,
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

export interface SyncOptions {
  what: string;
  /** What requested the sync. Default: `cli`. */
  reason?: string;
  force?: boolean;
  /** Wait for another process that is writing to the index; else throws `BUSY`. */
  wait?: boolean;
  verbose?: boolean;
}

/** The young generation reaches about 16 MB after this number of files. */
const grownAfterFiles = 800;

/** Updates the index with a progress display. Undefined if the backend has no index of its own. */
export async function syncWithProgress(
  context: CommandContext,
  memory: Memory,
  options: SyncOptions,
): Promise<SyncReport | undefined> {
  const progress = createProgress(context.output, options.what);
  const isFirst = (memory.status().files ?? 0) === 0;
  const endOfFirst = isFirst ? reportFirstIndex(context.output, memory.workspaceDir) : undefined;
  let named: string | undefined;
  // The list of files would let the young generation grow to its maximum at once.
  if (isFirst) boundGarbage(1);
  try {
    return await memory.sync({
      reason: options.reason ?? "cli",
      force: options.force ?? false,
      wait: options.wait ?? false,
      signal: context.signal,
      progress: (update) => {
        if (update.completed === 0 && update.total > grownAfterFiles) boundGarbage(2);
        if (update.completed === grownAfterFiles) boundGarbage(1);
        if (options.verbose !== true) progress.update(update);
        else if (update.label !== undefined && update.label !== named) {
          named = update.label;
          context.output.stderr.write(`memslot: ${update.completed}/${update.total} ${visibleName(update.label)}\n`);
        }
      },
    });
  } finally {
    endOfFirst?.();
    progress.stop();
  }
}

/** Limits garbage while many files are read; otherwise the heap grows by hundreds of megabytes. */
function boundGarbage(growth: 1 | 2): void {
  // An import would load the module in commands that do not need it.
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  setFlagsFromString("--heap-growing-percent=33");
}
