import {
  type AgentConfig,
  type MemorySearchResult,
  type SearchReport,
  type SyncReport,
  isAbort,
  messageOf,
} from "@memslot/core";
import type { Memory } from "@memslot/core";
import { chooseAgent } from "../agents.ts";
import type { CommandContext } from "../command-context.ts";
import { disabledReason, printDisabled } from "../disabled-memory.ts";
import { ExitCode } from "../exit-code.ts";
import { formatReport } from "../format-report.ts";
import { formatResult } from "../format-result.ts";
import { readConfig } from "../read-config.ts";
import { counted } from "../report-failed-files.ts";
import { syncWithProgress } from "../sync-with-progress.ts";
import { UsageError } from "../usage-error.ts";
import { withMemory } from "../with-memory.ts";

export interface MemorySearchCommandOptions {
  query?: string;
  agent?: string;
  maxResults?: number;
  minScore?: number;
  source?: readonly string[];
  json?: boolean;
  explain?: boolean;
}

/** What was found, and how far it can be believed. */
interface Answer {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
  state: SearchReport["state"];
  reason: string | undefined;
  action: string | undefined;
}

/** `memslot memory search`: brings the index up to date, then asks. */
export async function memorySearch(
  context: CommandContext,
  options: MemorySearchCommandOptions,
  ...words: string[]
): Promise<number> {
  const query = options.query ?? (words.length === 0 ? undefined : words.join(" "));
  if (query === undefined)
    throw new UsageError('what should be searched? For example: memslot memory search "the mail server"');
  const config = await readConfig(context);
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    printDisabled(context, agent.id, disabled, options);
    return ExitCode.ok;
  }
  const answer = await withMemory(context, config, agent, (memory) => ask(context, memory, agent, query, options), {
    warm: true,
  });
  if (options.json === true) printJson(context, answer, agent, options);
  else printForPeople(context, answer, query, options);
  return answer.state === "unavailable" ? ExitCode.error : ExitCode.ok;
}

async function ask(
  context: CommandContext,
  memory: Memory,
  agent: AgentConfig,
  query: string,
  options: MemorySearchCommandOptions,
): Promise<Answer> {
  const syncProblem = query.trim() === "" ? undefined : await bringUpToDate(context, memory, agent);
  let report: SearchReport | undefined;
  const results = await memory.search(query, {
    maxResults: options.maxResults,
    minScore: options.minScore,
    sources: options.source,
    signal: context.signal,
    onDebug: (given) => {
      report = given;
    },
  });
  const { state = "ok", reason, action } = (report as SearchReport | undefined) ?? {};
  if (syncProblem === undefined || state !== "ok") return { results, report, state, reason, action };
  return {
    results,
    report,
    state: "stale",
    reason: syncProblem,
    action: "Run memslot memory index, then search again.",
  };
}

/** The search waits for the sync, so that what was just written is found. A failed sync leaves what was indexed before. */
async function bringUpToDate(context: CommandContext, memory: Memory, agent: AgentConfig): Promise<string | undefined> {
  const filesBefore = memory.status().files ?? 0;
  if (!agent.memorySearch.sync.onSearch && filesBefore > 0) return undefined;
  let done: SyncReport | undefined;
  try {
    done = await syncWithProgress(context, memory, { what: "indexing", reason: "search" });
  } catch (error) {
    if (isAbort(error)) throw error;
    return `the index could not be brought up to date: ${messageOf(error)}`;
  }
  if (done === undefined) return undefined;
  if (filesBefore === 0 && done.added > 0)
    context.output.notice(`indexed ${counted(done.added, "file")} of ${memory.workspaceDir}`);
  if (done.failed.length > 0) {
    context.output.notice(`${counted(done.failed.length, "file")} could not be indexed; memslot memory index says why`);
  }
  if (done.pendingVectors !== undefined && done.added > 0)
    context.output.notice("memslot memory index makes the vectors that are still missing");
  return undefined;
}

function printJson(
  context: CommandContext,
  answer: Answer,
  agent: AgentConfig,
  options: MemorySearchCommandOptions,
): void {
  const { results, report, state, reason, action } = answer;
  context.output.printJson({
    results,
    agentId: agent.id,
    state,
    mode: report?.mode,
    backend: report?.backend,
    confidence: report?.confidence,
    fallback: report?.fallback,
    reason,
    action,
    ...(state === "ok" ? {} : { stale: true, warning: warningFor(answer) }),
    ...(options.explain === true ? { report } : {}),
  });
}

function printForPeople(
  context: CommandContext,
  answer: Answer,
  query: string,
  options: MemorySearchCommandOptions,
): void {
  const { output } = context;
  const { results, report, state, reason, action } = answer;
  if (state === "unavailable" && results.length === 0)
    output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  else if (results.length === 0)
    output.print(["No matches.", reason && sentence(reason), action && sentence(action)].filter(Boolean).join(" "));
  else output.print(results.map((result) => formatResult(result, query, output.style)).join("\n\n"));
  if (state !== "ok" && results.length > 0) output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  if (options.explain === true && report !== undefined) output.print(`\n${formatReport(report)}`);
}

function warningFor({ results, state, reason }: Answer): string {
  if (state === "unavailable" && results.length === 0)
    return `The memory could not be searched${reason === undefined ? "" : `: ${reason.replace(/\.$/u, "")}`}.`;
  return `The answer may be incomplete: the memory is ${state}${reason === undefined ? "" : `, ${reason.replace(/\.$/u, "")}`}.`;
}

function sentence(text: string): string {
  const ended = /[.!?。]$/u.test(text) ? text : `${text}.`;
  // A key or a path keeps its case.
  return /^\p{Ll}+ /u.test(ended) ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}
