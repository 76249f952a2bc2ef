import {
  type AgentConfig,
  type AvailabilityProbe,
  type HealthState,
  type Memory,
  type MemoryProviderStatus,
  type MemslotConfig,
  isAbort,
  messageOf,
} from "@memslot/core";
import { chooseAgents, disabledReason } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode, worseExitCode, exitCodeOf, failureJson, reportFailure } from "../../terminal/exit-code.ts";
import { formatStatus } from "../../format/format-status.ts";
import { readConfig } from "../../open/read-config.ts";
import { type AgentStatus, scanSummary } from "../../open/scan-summary.ts";
import { syncWithProgress, withMemory } from "../../open/with-memory.ts";

export interface MemoryStatusCommandOptions extends CommonOptions {
  deep?: boolean;
  fix?: boolean;
  index?: boolean;
}

/** `memslot memory status`: what is indexed, from where, and what fails. */
export async function memoryStatus(context: CommandContext, options: MemoryStatusCommandOptions): Promise<number> {
  const config = await readConfig(context, { lookAround: true });
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
      const inspected = await inspect(context, config, agent, options);
      const { entry } = inspected;
      entries.push(entry);
      const { memorySearch: settings } = agent;
      blocks.push(formatStatus(entry, { settings, style: context.output.style, fix: options.fix === true }));
      exitCode = worseExitCode(exitCode, inspected.exitCode);
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

/** The exit code for a state. Without notes or checks, nothing is known to be wrong. */
const codes: Partial<Record<HealthState, number>> = {
  stale: ExitCode.partial,
  degraded: ExitCode.partial,
  unavailable: ExitCode.error,
};

async function inspect(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  options: MemoryStatusCommandOptions,
): Promise<{ entry: AgentStatus; exitCode: number }> {
  const { signal } = context;
  const deep = options.deep === true || options.fix === true || options.index === true;
  const collect = async (memory: Memory): Promise<{ entry: AgentStatus; exitCode: number }> => {
    const index = await attempt(options.index === true, () =>
      syncWithProgress(context, memory, { what: `indexing ${agent.id}` }),
    );
    // Before the probes, so that they test the repaired index.
    const check = await attempt(deep, () => memory.check({ fix: options.fix === true, signal }));
    let embeddingProbe: AvailabilityProbe | undefined;
    if (deep) {
      embeddingProbe = await memory.probeEmbeddingAvailability({ signal });
      await memory.probeVectorAvailability({ signal });
    }
    const known = await attempt(true, () => memory.health({ signal }));
    const { survey, ...health } = known.value ?? { state: "unavailable" as const, reason: messageOf(known.error) };
    const status = withWatch(memory.status(), agent);
    const entry: AgentStatus = {
      agentId: agent.id,
      health,
      status,
      ...(embeddingProbe === undefined ? {} : { embeddingProbe }),
      ...(index.error === undefined ? {} : { indexError: messageOf(index.error) }),
      ...(check.value === undefined ? {} : { check: check.value }),
      ...(check.error === undefined ? {} : { checkError: messageOf(check.error) }),
      ...(survey === undefined ? {} : { survey }),
      scan: scanSummary(status),
    };
    const failedFiles = (index.value?.failed.length ?? 0) > 0 ? ExitCode.partial : ExitCode.ok;
    const found = check.value?.ok === false ? ExitCode.error : ExitCode.ok;
    const ofHealth = codes[health.state] ?? ExitCode.ok;
    const exitCode = [codeOf(index.error), codeOf(check.error), found, ofHealth].reduce(worseExitCode, failedFiles);
    return { entry, exitCode };
  };
  return await withMemory(context, config, agent, collect, { oneShot: !deep });
}

/** A step whose failure is part of the answer. */
async function attempt<T>(wanted: boolean, step: () => Promise<T>): Promise<{ value?: T; error?: unknown }> {
  if (!wanted) return {};
  try {
    return { value: await step() };
  } catch (error) {
    if (isAbort(error)) throw error;
    return { error };
  }
}

function codeOf(error: unknown): number {
  return error === undefined ? ExitCode.ok : exitCodeOf(error);
}

/** A command ends before a watcher is useful, so it never watches. That must not look like a fault. */
function withWatch(given: MemoryProviderStatus, agent: AgentConfig): MemoryProviderStatus {
  const { watch, onSearch } = agent.memorySearch.sync;
  const reason = "commands do not watch; a running agent does";
  // A search command syncs first.
  const isScanned = given.freshness !== undefined && onSearch !== false;
  const scanned = { by: "sweep", reason: watch ? reason : "sync.watch is false" } as const;
  const status = isScanned ? { ...given, freshness: scanned } : given;
  return status.watch === undefined || !watch ? status : { ...status, watch: { mode: "off", reason } };
}
