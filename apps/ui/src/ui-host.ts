import type { ChangePlace } from "@memslot/agent-kit";
import type { AgentConfig, Memory, MemslotConfig } from "@memslot/core";

/** The memory that the page shows, open, and its configuration. */
export interface UiHost {
  readonly memory: Memory;
  readonly config: MemslotConfig;
  readonly agent: AgentConfig;
  /** Nothing is written: no note, no setting. */
  readonly readOnly: boolean;
}

/** Where changes of notes are logged, and by whom. */
export function changePlace({ memory, agent, config }: UiHost, signal: AbortSignal): ChangePlace {
  return {
    workspaceDir: memory.workspaceDir,
    settings: agent.memorySearch,
    stateDir: config.stateDir,
    changer: { agentId: agent.id, by: "memslot ui" },
    at: new Date(),
    signal,
  };
}
