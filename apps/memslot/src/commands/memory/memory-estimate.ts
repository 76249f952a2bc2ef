import type { AgentConfig, MemslotConfig, SyncEstimate } from "@memslot/core";
import { chooseAgents } from "../../open/agents.ts";
import type { CommandContext } from "../../command-context.ts";
import { disabledReason } from "../../open/disabled-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { formatEstimate } from "../../format/format-estimate.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";

export interface MemoryEstimateOptions {
  agent?: string;
  json?: boolean;
}

/** `memslot memory index --estimate`: what indexing would cost. Nothing is indexed and nothing is sent. */
export async function memoryEstimate(context: CommandContext, options: MemoryEstimateOptions): Promise<number> {
  const config = await readConfig(context);
  const agents = chooseAgents(config, options.agent);
  const entries: object[] = [];
  const blocks: string[] = [];
  for (const agent of agents) {
    const answer = await estimateOf(context, config, agent);
    entries.push({ agentId: agent.id, ...("estimate" in answer ? answer.estimate : { disabled: answer.none }) });
    const text = "estimate" in answer ? formatEstimate(answer.estimate) : answer.none;
    blocks.push(agents.length > 1 ? `${agent.id}: ${text}` : text);
  }
  if (options.json === true) context.output.printJson(entries);
  else context.output.print(blocks.join("\n\n"));
  return ExitCode.ok;
}

async function estimateOf(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<{ estimate: SyncEstimate } | { none: string }> {
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) return { none: `Memory is disabled: ${disabled}.` };
  const { signal } = context;
  const estimate = await withMemory(context, config, agent, (memory) => memory.estimate({ signal }), {
    lookOnly: true,
  });
  return estimate === undefined ? { none: "This backend cannot tell beforehand what indexing costs." } : { estimate };
}
