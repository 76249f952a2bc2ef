import {
  type AgentConfig,
  type AvailabilityProbe,
  type MemslotConfig,
  type SyncReport,
  isAbort,
  messageOf,
} from "@memslot/core";
import { chooseAgents } from "../agents.ts";
import type { CommandContext } from "../command-context.ts";
import { disabledReason } from "../disabled-memory.ts";
import { ExitCode, worseExitCode } from "../exit-code.ts";
import { exitCodeOf, failureJson, reportFailure } from "../failure.ts";
import { formatStatus } from "../format-status.ts";
import { readConfig } from "../read-config.ts";
import { type AgentStatus, scanSummary } from "../scan-summary.ts";
import { syncWithProgress } from "../sync-with-progress.ts";
import { withMemory } from "../with-memory.ts";

export interface MemoryStatusCommandOptions {
  agent?: string;
  deep?: boolean;
  index?: boolean;
  json?: boolean;
}

/** `memslot memory status`: what is indexed, from where, and what does not work. */
export async function memoryStatus(context: CommandContext, options: MemoryStatusCommandOptions): Promise<number> {
  const config = await readConfig(context);
  const entries: object[] = [];
  const blocks: string[] = [];
  let exitCode: number = ExitCode.ok;
  for (const agent of chooseAgents(config, options.agent)) {
    const disabled = disabledReason(config, agent);
    if (disabled !== undefined) {
      blocks.push(`Agent ${agent.id}: memory is disabled: ${disabled}.`);
      continue;
    }
    try {
      const { entry, report } = await inspect(context, config, agent, options);
      entries.push(entry);
      blocks.push(formatStatus(entry, agent.memorySearch, context.output.style));
      if (entry.indexError !== undefined) exitCode = worseExitCode(exitCode, ExitCode.error);
      if ((report?.failed.length ?? 0) > 0) exitCode = worseExitCode(exitCode, ExitCode.partial);
    } catch (error) {
      if (isAbort(error)) throw error;
      entries.push(failureJson(error, agent.id));
      if (options.json !== true) reportFailure(context.output, error);
      exitCode = worseExitCode(exitCode, exitCodeOf(error));
    }
  }
  if (options.json === true) context.output.printJson(entries);
  else if (blocks.length > 0) context.output.print(blocks.join("\n\n"));
  return exitCode;
}

function inspect(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  options: MemoryStatusCommandOptions,
): Promise<{ entry: AgentStatus; report: SyncReport | undefined }> {
  return withMemory(context, config, agent, async (memory) => {
    const { signal } = context;
    let report: SyncReport | undefined;
    let indexError: string | undefined;
    if (options.index === true) {
      try {
        report = await syncWithProgress(context, memory, { what: `indexing ${agent.id}` });
      } catch (error) {
        if (isAbort(error)) throw error;
        indexError = messageOf(error);
      }
    }
    let embeddingProbe: AvailabilityProbe | undefined;
    if (options.deep === true || options.index === true) {
      embeddingProbe = await memory.probeEmbeddingAvailability({ signal });
      await memory.probeVectorAvailability({ signal });
    }
    const status = memory.status();
    const entry: AgentStatus = {
      agentId: agent.id,
      status,
      ...(embeddingProbe === undefined ? {} : { embeddingProbe }),
      ...(indexError === undefined ? {} : { indexError }),
      scan: scanSummary(status),
    };
    return { entry, report };
  });
}
