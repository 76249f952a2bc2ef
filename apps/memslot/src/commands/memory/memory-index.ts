import {
  type AgentConfig,
  type MemoryProviderStatus,
  type MemslotConfig,
  type SyncReport,
  MemoryError,
  isAbort,
} from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import { chooseAgents, disabledReason } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode, worseExitCode, UsageError, exitCodeOf, reportFailure } from "../../terminal/exit-code.ts";
import { describeCounts } from "../../format/describe-status.ts";
import { describeLayout, describeLeftOut, describeUnsearched } from "../../format/describe-excluded-notes.ts";
import { type Output, printable } from "../../terminal/output.ts";
import { readConfig } from "../../open/read-config.ts";
import { counted, reportExcluded, scanSummary } from "../../open/scan-summary.ts";
import { type SyncOptions, syncWithProgress, withMemory } from "../../open/with-memory.ts";

export interface MemoryIndexCommandOptions extends Pick<SyncOptions, "force" | "verbose" | "wait">, CommonOptions {
  estimate?: boolean;
}

/** `memslot memory index`: updates each index, also after a failure of another. `--wait` waits for another writer. */
export async function memoryIndex(context: CommandContext, options: MemoryIndexCommandOptions): Promise<number> {
  if (options.estimate === true) return (await import("./memory-estimate.ts")).memoryEstimate(context, options);
  if (options.json === true) throw new UsageError("--json belongs to --estimate here");
  const config = await readConfig(context, { lookAround: true });
  const agents = chooseAgents(config, options.agent);
  let exitCode: number = ExitCode.ok;
  for (const agent of agents) {
    const prefix = agents.length > 1 ? `${agent.id}: ` : "";
    try {
      exitCode = worseExitCode(exitCode, await indexAgent(context, config, agent, prefix, options));
    } catch (error) {
      const busy = MemoryError.is(error, "BUSY");
      if (isAbort(error) || (agents.length === 1 && !busy)) throw error;
      if (agents.length > 1) context.output.notice(`agent "${agent.id}":`);
      reportFailure(context.output, error);
      if (busy) context.output.notice("use memslot memory index --wait to wait for it");
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
  const { report, status, survey } = await withMemory(
    context,
    config,
    agent,
    async (memory) => {
      // Checked first: vectors of an index in memory would be paid for and lost.
      checkKept(memory.status());
      const what = prefix === "" ? "indexing" : `indexing ${agent.id}`;
      const report = await syncWithProgress(context, memory, { ...options, what });
      const status = memory.status();
      checkKept(status);
      // A failed survey is no reason to fail.
      return { report, status, survey: await memory.survey({ signal: context.signal }).catch(() => undefined) };
    },
    { warm: true, rebuild: options.force === true },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  if (options.verbose === true) printRoots(output.print, status);
  if (report === undefined) {
    output.print(`${prefix}The backend ${status.backend} has no index of its own: nothing to do.`);
    return ExitCode.ok;
  }
  output.print(`${prefix}${describe(report, status)} in ${seconds.toFixed(1)} s`);
  const isFirst = report.changed + report.removed + report.unchanged === 0;
  if (options.verbose === true || isFirst) reportLayout(output, status, agent);
  const vectorsCode = reportPendingVectors(output, report);
  const excluded = status.excluded ?? survey?.excluded;
  reportExcluded(output, excluded, report.failed, scanSummary(status).issues);
  const unsearched = survey && describeUnsearched(survey.unsearched);
  if (unsearched !== undefined) output.notice(`not searched: ${printable(unsearched)}`);
  return worseExitCode(vectorsCode, report.failed.length + (excluded?.count ?? 0) > 0 ? ExitCode.partial : ExitCode.ok);
}

function checkKept({ dbPath }: MemoryProviderStatus): void {
  if (dbPath === ":memory:") throw new MemoryError("UNAVAILABLE", "nothing was indexed: no index file can be written");
}

function reportLayout(output: Output, { workspaceDir, roots = [] }: MemoryProviderStatus, agent: AgentConfig): void {
  if (workspaceDir === undefined) return;
  output.notice(`layout: ${describeLayout(notesLayout(workspaceDir, agent.memorySearch.notes))}`);
  const leftOut = describeLeftOut(roots.flatMap((root) => root.leftOut ?? []));
  if (leftOut !== undefined) output.notice(`excluded: ${leftOut}`);
}

/** Prints how many chunks are not embedded and the next step. Returns the exit code. */
function reportPendingVectors(output: Output, { pendingVectors }: SyncReport): number {
  if (pendingVectors === undefined) return ExitCode.ok;
  const { chunks, reason, failure } = pendingVectors;
  output.notice(`${counted(chunks, "chunk")} not embedded yet: ${printable(reason)}`);
  if (failure === undefined) return ExitCode.ok;
  const isPassing = failure === "transient" || failure === "rate";
  const next = isPassing
    ? "run memslot memory index again when the provider answers"
    : "fix this, then run memslot memory index again";
  output.notice(`keyword search finds all notes meanwhile; ${next}`);
  return isPassing ? ExitCode.partial : ExitCode.error;
}

function describe(report: SyncReport, status: MemoryProviderStatus): string {
  const counts = describeCounts(report);
  const total = [
    status.files === undefined ? undefined : counted(status.files, "file"),
    status.chunks === undefined ? undefined : counted(status.chunks, "chunk"),
  ].filter((part) => part !== undefined);
  return `Indexed ${[total.join(" · "), counts === "" ? "no notes yet" : counts].filter((part) => part !== "").join(": ")}`;
}

function printRoots(print: (text: string) => void, { roots = [] }: MemoryProviderStatus): void {
  for (const { path, state, files = 0, reason = "no reason given" } of roots)
    print(`${printable(path)}: ${state === "indexed" ? counted(files, "file") : `skipped: ${printable(reason)}`}`);
}
