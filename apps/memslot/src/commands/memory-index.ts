import {
  type AgentConfig,
  type MemoryProviderStatus,
  type MemslotConfig,
  type SyncReport,
  isAbort,
} from "@memslot/core";
import { chooseAgents } from "../agents.ts";
import type { CommandContext } from "../command-context.ts";
import { disabledReason } from "../disabled-memory.ts";
import { ExitCode, worseExitCode } from "../exit-code.ts";
import { exitCodeOf, reportFailure } from "../failure.ts";
import { printable } from "../printable.ts";
import { readConfig } from "../read-config.ts";
import { counted, reportFailedFiles } from "../report-failed-files.ts";
import { syncWithProgress } from "../sync-with-progress.ts";
import { withMemory } from "../with-memory.ts";

export interface MemoryIndexCommandOptions {
  agent?: string;
  force?: boolean;
  verbose?: boolean;
}

/** `memslot memory index`: brings the index of each agent up to date. One agent's trouble does not stop the next. */
export async function memoryIndex(context: CommandContext, options: MemoryIndexCommandOptions): Promise<number> {
  const config = await readConfig(context);
  const agents = chooseAgents(config, options.agent);
  let exitCode: number = ExitCode.ok;
  for (const agent of agents) {
    const prefix = agents.length > 1 ? `${agent.id}: ` : "";
    try {
      exitCode = worseExitCode(exitCode, await indexAgent(context, config, agent, prefix, options));
    } catch (error) {
      if (isAbort(error) || agents.length === 1) throw error;
      context.output.notice(`agent "${agent.id}":`);
      reportFailure(context.output, error);
      exitCode = worseExitCode(exitCode, exitCodeOf(error));
    }
  }
  return exitCode;
}

async function indexAgent(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  prefix: string,
  options: MemoryIndexCommandOptions,
): Promise<number> {
  const { output } = context;
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    output.print(`${prefix}Memory is disabled: ${disabled}.`);
    return ExitCode.ok;
  }
  const startedAt = performance.now();
  const { report, status } = await withMemory(
    context,
    config,
    agent,
    async (memory) => ({
      report: await syncWithProgress(context, memory, {
        what: prefix === "" ? "indexing" : `indexing ${agent.id}`,
        force: options.force === true,
        verbose: options.verbose === true,
      }),
      status: memory.status(),
    }),
    { warm: true },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  if (options.verbose === true) printRoots(output.print, status);
  if (report === undefined) {
    output.print(`${prefix}The backend ${status.backend} keeps no index of its own: nothing to do.`);
    return ExitCode.ok;
  }
  output.print(`${prefix}${describe(report, status)} in ${seconds.toFixed(1)} s`);
  if (report.pendingVectors !== undefined) {
    output.notice(
      `${counted(report.pendingVectors.chunks, "chunk")} still without a vector: ${report.pendingVectors.reason}`,
    );
  }
  reportFailedFiles(output, report.failed);
  return report.failed.length > 0 ? ExitCode.partial : ExitCode.ok;
}

function describe(report: SyncReport, status: MemoryProviderStatus): string {
  const counts = [
    [report.added, "added"],
    [report.changed, "changed"],
    [report.removed, "removed"],
    [report.unchanged, "unchanged"],
    [report.failed.length, "failed"],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const total = [
    status.files === undefined ? undefined : counted(status.files, "file"),
    status.chunks === undefined ? undefined : counted(status.chunks, "chunk"),
  ].filter((part) => part !== undefined);
  return `Indexed ${[total.join(" · "), parts.length === 0 ? "no notes yet" : parts.join(", ")].filter((part) => part !== "").join(": ")}`;
}

function printRoots(print: (text: string) => void, { roots = [] }: MemoryProviderStatus): void {
  for (const root of roots) {
    const outcome =
      root.state === "indexed"
        ? counted(root.files ?? 0, "file")
        : `skipped: ${printable(root.reason ?? "no reason given")}`;
    print(`${printable(root.path)}: ${outcome}`);
  }
}
