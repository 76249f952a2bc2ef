import { type AgentConfig, type MemslotConfig } from "@memslot/core";
import { memoryState } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";

/** Why the memory of an agent is disabled; undefined if it is enabled. */
export function disabledReason(config: MemslotConfig, agent: AgentConfig): string | undefined {
  const { enabled, reason } = memoryState(config, agent.id);
  return enabled ? undefined : (reason ?? "the configuration says so");
}

export function printDisabled(
  { output }: CommandContext,
  agentId: string,
  reason: string,
  options: { json?: boolean },
): void {
  if (options.json === true) output.printJson({ agentId, status: "disabled" });
  else output.print(`Memory is disabled for agent "${agentId}": ${reason}.`);
}
