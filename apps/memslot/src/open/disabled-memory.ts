import { type AgentConfig, type MemslotConfig, memoryState } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";

/** Why an agent has no memory, which is a choice and no error; undefined where it has one. */
export function disabledReason(config: MemslotConfig, agent: AgentConfig): string | undefined {
  const { enabled, reason } = memoryState(config, agent.id);
  return enabled ? undefined : (reason ?? "the configuration says so");
}

/** The answer of a command that was asked about a memory that is off. */
export function printDisabled(
  { output }: CommandContext,
  agentId: string,
  reason: string,
  options: { json?: boolean },
): void {
  if (options.json === true) output.printJson({ agentId, status: "disabled" });
  else output.print(`Memory is disabled for agent "${agentId}": ${reason}.`);
}
