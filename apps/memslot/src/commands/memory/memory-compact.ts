import { type AgentConfig, type CompactReport, type MemslotConfig, isAbort } from "@memslot/core";
import { chooseAgents, disabledReason } from "../../open/choose-agents.ts";
import { byteSize } from "../../format/units.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode, worseExitCode, exitCodeOf, failureJson, reportFailure } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";

export async function memoryCompact(context: CommandContext, options: CommonOptions): Promise<number> {
  const config = await readConfig(context, { lookAround: true });
  const agents = chooseAgents(config, options.agent);
  const entries: object[] = [];
  let exitCode: number = ExitCode.ok;
  for (const agent of agents) {
    const prefix = agents.length > 1 ? `${agent.id}: ` : "";
    try {
      const answer = await compactAgent(context, config, agent);
      entries.push({ agentId: agent.id, ...(typeof answer === "string" ? { reason: answer } : answer) });
      if (options.json !== true)
        context.output.print(`${prefix}${typeof answer === "string" ? answer : describe(answer)}`);
    } catch (error) {
      if (isAbort(error)) throw error;
      entries.push(failureJson(error, agent.id));
      if (options.json !== true) {
        if (prefix !== "") context.output.notice(`agent "${agent.id}":`);
        reportFailure(context.output, error);
      }
      exitCode = worseExitCode(exitCode, exitCodeOf(error));
    }
  }
  if (options.json === true) context.output.printJson(entries);
  return exitCode;
}

async function compactAgent(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<CompactReport | string> {
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) return `Memory is disabled: ${disabled}.`;
  const { signal } = context;
  const { report, backend } = await withMemory(
    context,
    config,
    agent,
    async (memory) => ({ report: await memory.compact({ signal }), backend: memory.status().backend }),
    { readOnly: true },
  );
  return report ?? `The backend ${backend} has no index file to compact.`;
}

function describe({ beforeBytes, afterBytes }: CompactReport): string {
  const saved = beforeBytes - afterBytes;
  return saved > 0
    ? `${byteSize(beforeBytes)} before, ${byteSize(afterBytes)} after: ${byteSize(saved)} freed`
    : `${byteSize(afterBytes)}: no space to free`;
}
