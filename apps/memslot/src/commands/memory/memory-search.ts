import {
  type AgentConfig,
  type Memory,
  type MemorySearchResult,
  type SearchLeg,
  type SearchReport,
  type SyncReport,
  type WriterStatus,
  MemoryError,
  describeReadings,
  isAbort,
  messageOf,
} from "@memslot/core";
import { chooseAgent } from "../../open/agents.ts";
import type { CommandContext } from "../../command-context.ts";
import { disabledReason, printDisabled } from "../../open/disabled-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { formatResult } from "../../format/format-result.ts";
import { describeWriter } from "../../format/format-writer.ts";
import { readConfig } from "../../open/read-config.ts";
import { counted } from "../../open/report-failed-files.ts";
import { syncWithProgress } from "../../open/sync-with-progress.ts";
import { UsageError } from "../../terminal/usage-error.ts";
import { withMemory } from "../../open/with-memory.ts";
import { describeFallback } from "../../format/format-fallback.ts";

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
  /** Another process that is at work on the index. */
  writer: WriterStatus | undefined;
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
  const writer = otherWriter(memory.status().writer);
  if (syncProblem === undefined || state !== "ok") {
    const isPartial = state === "stale" || state === "degraded";
    return { results, report, state, reason: isPartial ? withWriter(reason, writer) : reason, action, writer };
  }
  return { results, report, state: "stale", ...staleBecause(syncProblem, writer), writer };
}

function otherWriter(writer: WriterStatus | undefined): WriterStatus | undefined {
  return writer?.pid === process.pid ? undefined : writer;
}

/** Who is at work, after the reason why an answer is not all it could be, where the reason does not say so itself. */
function withWriter(reason: string | undefined, writer: WriterStatus | undefined): string | undefined {
  if (writer === undefined || reason?.includes(`process ${writer.pid} `) === true) return reason;
  return [reason, describeWriter(writer)].filter((part) => part !== undefined).join("; ");
}

function staleBecause(error: unknown, writer: WriterStatus | undefined): Pick<Answer, "reason" | "action"> {
  if (MemoryError.is(error, "BUSY"))
    return { reason: withWriter(messageOf(error), writer), action: "Search again when it is done." };
  return {
    reason: withWriter(`the index could not be brought up to date: ${messageOf(error)}`, writer),
    action: "Run memslot memory index, then search again.",
  };
}

/**
 * The search waits for its own sync, so that what was just written is found, and for no other process. Gives the error
 * of a sync that failed: what was indexed before is searched then.
 */
async function bringUpToDate(context: CommandContext, memory: Memory, agent: AgentConfig): Promise<unknown> {
  const filesBefore = memory.status().files ?? 0;
  if (!agent.memorySearch.sync.onSearch && filesBefore > 0) return undefined;
  let done: SyncReport | undefined;
  try {
    done = await syncWithProgress(context, memory, { what: "indexing", reason: "search" });
  } catch (error) {
    if (isAbort(error)) throw error;
    return error;
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
    conditions: report?.conditions,
    readings: report?.readings,
    unsearched: report?.unsearched,
    fallback: report?.fallback,
    reason,
    action,
    writer: answer.writer,
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
  if (report?.readings !== undefined) output.notice(`${describeReadings(report.readings)}.`);
  if (state === "unavailable" && results.length === 0)
    output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  else if (results.length === 0)
    output.print(["No matches.", reason && sentence(reason), action && sentence(action)].filter(Boolean).join(" "));
  else output.print(results.map((result) => formatResult(result, query, output.style)).join("\n\n"));
  if (state !== "ok" && results.length > 0) output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  // An empty or weak answer: what was asked for may stand where nobody has looked.
  else if (report?.unsearched !== undefined && results.length > 0)
    output.notice([reason && sentence(reason), action].filter(Boolean).join(" "));
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

/** The search report for people (`--explain`): what each leg gave, what was left out, how long it took. */
function formatReport(report: SearchReport): string {
  const { dropped } = report;
  const timings = Object.entries(report.timingsMs ?? {}).map(([step, ms]) => `${step} ${ms.toFixed(1)} ms`);
  const rows: [string, string | undefined][] = [
    ["Backend", report.backend],
    ["Mode", report.mode],
    ["State", report.reason === undefined ? report.state : `${report.state}: ${report.reason}`],
    ["Next step", report.action],
    ["Keyword leg", describeLeg(report.legs.keyword)],
    ["Vector leg", describeLeg(report.legs.vector)],
    ["Left out", `${dropped.minScore} by min score, ${dropped.source} by source, ${dropped.limit} by the limit`],
    ["Confidence", report.confidence?.toFixed(3)],
    ["Fallback", report.fallback && describeFallback(report.fallback)],
    ["Timings", timings.length === 0 ? undefined : timings.join(", ")],
  ];
  return rows
    .flatMap(([label, value]) => (value === undefined ? [] : [`${`${label}:`.padEnd(13)}${value}`]))
    .join("\n");
}

function describeLeg(leg: SearchLeg | undefined): string {
  return leg === undefined ? "not asked" : `${leg.candidates} candidates, ${leg.kept} in the answer`;
}
