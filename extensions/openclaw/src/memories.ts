import { join } from "node:path";
import { type Memory, type MemslotConfig, openMemory } from "@memslot/core";
import { memoryState, passMemoryCalls } from "@memslot/core/host";
import { agentsOf, memslotConfigOf, ownersOf } from "./config.ts";
import type { HostApi, HostConfig } from "./host.ts";

/** The memories of one host: opened on first use, shared by its sessions. */
export interface Memories {
  /** Why memory is off for an agent; undefined if it is on. Throws `CONFIG` for settings that cannot be used. */
  offReason(config: HostConfig, agentId: string): string | undefined;
  /** The memory of an agent under this configuration. An earlier one of the agent's is closed for it. */
  open(config: HostConfig, agentId: string): Promise<Memory>;
  /** A separate one for a short command; the caller closes it. */
  openOnce(config: HostConfig, agentId: string, notify: (line: string) => void): Promise<Memory>;
  /** A memory that opens at its first call. `close` leaves it open for others. */
  lazy(config: HostConfig, agentId: string): Memory;
  agents(config: HostConfig): string[];
  close(agentId?: string): Promise<void>;
}

type Kept = Readonly<{ key: string; memory: Promise<Memory> }>;

export function createMemories(api: HostApi): Memories {
  const kept = new Map<string, Kept>();
  const configs = new WeakMap<HostConfig, Map<string, MemslotConfig>>();

  return { offReason, open, openOnce, lazy, agents: agentsOf, close };

  function configOf(config: HostConfig, agentId: string): MemslotConfig {
    const known = configs.get(config) ?? new Map<string, MemslotConfig>();
    configs.set(config, known);
    const made = known.get(agentId);
    if (made !== undefined) return made;
    const workspaceDir = api.runtime.agent.resolveAgentWorkspaceDir(config, agentId);
    const ours = memslotConfigOf(config, { workspaceDir, stateDir: stateDir() });
    for (const notice of ours.notices) api.logger.debug?.(`memslot: ${notice}`);
    known.set(agentId, ours);
    return ours;
  }

  function stateDir(): string {
    const given = api.pluginConfig?.["stateDir"];
    return typeof given === "string" ? given : join(api.runtime.state.resolveStateDir(), "memslot");
  }

  function offReason(config: HostConfig, agentId: string): string | undefined {
    const state = memoryState(configOf(config, agentId), agentId);
    return state.enabled ? undefined : state.reason;
  }

  async function open(config: HostConfig, agentId: string): Promise<Memory> {
    const ours = configOf(config, agentId);
    // The host passes a new object each time; compare its content.
    const key = JSON.stringify([ours.stateDir, ours.agent(agentId)]);
    const before = kept.get(agentId);
    if (before?.key === key) return before.memory;
    const memory = openWith(ours, agentId, { oneShot: false, notify: (line) => api.logger.warn(`memslot: ${line}`) });
    kept.set(agentId, { key, memory });
    // A failed open is retried by the next call.
    memory.catch(() => kept.get(agentId)?.memory === memory && kept.delete(agentId));
    const opened = await memory;
    await closeOne(before);
    return opened;
  }

  async function openOnce(config: HostConfig, agentId: string, notify: (line: string) => void): Promise<Memory> {
    return openWith(configOf(config, agentId), agentId, { oneShot: true, notify });
  }

  function lazy(config: HostConfig, agentId: string): Memory {
    let opened: Memory | undefined;
    const memory = async (): Promise<Memory> => (opened = await open(config, agentId));
    return {
      ...passMemoryCalls(memory),
      agentId,
      workspaceDir: api.runtime.agent.resolveAgentWorkspaceDir(config, agentId),
      ownerAllowFrom: ownersOf(config),
      status: () => opened?.status() ?? { backend: "memory-core", provider: "none" },
      close: () => Promise.resolve(),
    };
  }

  async function close(agentId?: string): Promise<void> {
    const ids = agentId === undefined ? [...kept.keys()] : [agentId];
    const closing = ids.map((id) => kept.get(id));
    for (const id of ids) kept.delete(id);
    await Promise.all(closing.map(closeOne));
  }
}

async function openWith(
  config: MemslotConfig,
  agentId: string,
  how: { oneShot: boolean; notify: (line: string) => void },
): Promise<Memory> {
  const [{ default: memoryCore }, { default: openai }, { default: gemini }] = await Promise.all([
    import("@memslot/memory-core"),
    import("@memslot/embeddings-openai"),
    import("@memslot/embeddings-gemini"),
  ]);
  return openMemory({ config, agentId, plugins: [memoryCore, openai, gemini], ...how });
}

/** Close errors were reported by its calls. */
async function closeOne(kept: Kept | undefined): Promise<void> {
  const memory = await kept?.memory.catch(() => undefined);
  await memory?.close();
}
