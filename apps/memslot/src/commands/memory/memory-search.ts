import {
  type AgentConfig,
  type Memory,
  type MemorySearchOptions,
  type SearchOrder,
  type SyncReport,
  type WriterStatus,
  MemoryError,
  isAbort,
  messageOf,
  mostResults,
} from "@memslot/core";
import { whyTarget } from "@memslot/core/host";
import { notesLayout } from "@memslot/core/files";
import { matchedWords, resultLines } from "@memslot/indexing";
import { chooseAgent, disabledReason, printDisabled } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { describeWriter } from "../../format/describe-status.ts";
import { readConfig } from "../../open/read-config.ts";
import { readQuery } from "../../open/read-query.ts";
import { counted } from "../../open/scan-summary.ts";
import { type ResultOptions, countLimit, refuseMixed, sortResults } from "../../results/print-results.ts";
import { placeResults } from "../../format/shown-path.ts";
import { type SearchAnswer, printAnswer, printAnswerJson } from "../../results/print-search-answer.ts";
import { syncWithProgress, withMemory } from "../../open/with-memory.ts";
import { formatWhy } from "../../format/format-search-explanation.ts";
import { describeLayout } from "../../format/describe-excluded-notes.ts";

export interface MemorySearchCommandOptions extends ResultOptions, CommonOptions {
  query?: string;
  maxResults?: number;
  maxTokens?: number;
  minScore?: number;
  source?: readonly string[];
  since?: string;
  until?: string;
  order?: SearchOrder;
  /** A note, a line of one, or the text of a line. */
  why?: string;
}

const mostTokens = 4000;

/** `memslot memory search`: updates the index, then searches. */
export async function memorySearch(
  context: CommandContext,
  options: MemorySearchCommandOptions,
  ...words: string[]
): Promise<number> {
  refuseMixed(options);
  // A date range alone is a query.
  const named = options.query ?? (words.length === 0 && namesDays(options) ? "" : undefined);
  const query = await readQuery(context, { named, words });
  const config = await readConfig(context, { lookAround: true });
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    printDisabled(context, agent.id, disabled, options);
    return ExitCode.ok;
  }
  const { why } = options;
  const how = { warm: true, oneShot: true };
  if (why !== undefined) {
    const print = (memory: Memory): Promise<number> => printWhy(context, memory, agent, { query, why, options });
    return await withMemory(context, config, agent, print, how);
  }
  const answer = await withMemory(context, config, agent, (memory) => ask(context, memory, agent, query, options), how);
  const places = { cwd: context.cwd, workspaceDir: agent.workspaceDir, stateDir: config.stateDir, agentId: agent.id };
  const results = await sortResults(placeResults(answer.lines, places), options.sort ?? "relevance");
  if (options.json === true) printAnswerJson(context, answer, results, agent, options);
  else printAnswer(context, answer, results, query, options);
  return answer.state === "unavailable" ? ExitCode.error : ExitCode.ok;
}

async function ask(
  context: CommandContext,
  memory: Memory,
  agent: AgentConfig,
  query: string,
  options: MemorySearchCommandOptions,
): Promise<SearchAnswer> {
  const isBlank = query.trim() === "" && !namesDays(options);
  const syncProblem = isBlank ? undefined : await syncFirst(context, memory, agent);
  const asked = await memory.ask(query, searchOptions(context, options));
  // A memory returns exact matches below its own minimum score; --min-score excludes them too.
  const found = asked.results;
  const results = found.filter(({ score }) => score >= (options.minScore ?? 0));
  let given = asked.report;
  const dropped = given.dropped.minScore ?? 0;
  const underMinScore = options.minScore === undefined ? 0 : dropped + found.length - results.length;
  if (found.length > results.length)
    given = { ...given, dropped: { ...given.dropped, minScore: underMinScore }, found: undefined };
  const { state, action } = given;
  const reason = results.length === 0 && found.length > 0 ? allUnder(underMinScore, options.minScore) : given.reason;
  const writer = otherWriter(memory.status().writer);
  const isForPeople = options.json !== true && options.paths !== true && options.count !== true;
  const lines = isForPeople
    ? await resultLines(memory, results, {
        query: matchedWords(query, given),
        context: options.context,
        signal: context.signal,
      })
    : results.map((result) => ({ result, lines: [] }));
  if (syncProblem === undefined || state !== "ok") {
    const isPartial = state === "stale" || state === "degraded";
    return {
      lines,
      report: given,
      state,
      reason: isPartial ? withWriter(reason, writer) : reason,
      action,
      writer,
      underMinScore,
    };
  }
  return { lines, report: given, state: "stale", ...staleBecause(syncProblem, writer), writer, underMinScore };
}

function namesDays({ since, until, order = "relevance" }: MemorySearchCommandOptions): boolean {
  return since !== undefined || until !== undefined || order !== "relevance";
}

function searchOptions(context: CommandContext, options: MemorySearchCommandOptions): MemorySearchOptions {
  return {
    maxResults: options.count === true ? countLimit : options.maxResults,
    defaultMaxResults: mostResults,
    // A requested number of results must not be cut by the token budget.
    maxTokens:
      options.maxTokens ?? (options.maxResults !== undefined || options.count === true ? mostTokens : undefined),
    minScore: options.minScore,
    sources: options.source,
    since: options.since,
    until: options.until,
    order: options.order,
    explain: options.explain,
    signal: context.signal,
  };
}

async function printWhy(
  context: CommandContext,
  memory: Memory,
  agent: AgentConfig,
  { query, why: target, options }: { query: string; why: string; options: MemorySearchCommandOptions },
): Promise<number> {
  await syncFirst(context, memory, agent);
  const why = await memory.why(query, whyTarget(target), searchOptions(context, options));
  if (options.json === true) context.output.printJson(why ?? null);
  else context.output.print(why === undefined ? "Not supported by this backend." : formatWhy(why));
  return why === undefined ? ExitCode.error : ExitCode.ok;
}

function allUnder(count: number, minScore: number | undefined): string {
  return count === 1
    ? `the one result scores less than ${minScore}`
    : `all ${count} results score less than ${minScore}`;
}

function otherWriter(writer: WriterStatus | undefined): WriterStatus | undefined {
  return writer?.pid === process.pid ? undefined : writer;
}

function withWriter(reason: string | undefined, writer: WriterStatus | undefined): string | undefined {
  if (writer === undefined || reason?.includes(`process ${writer.pid} `) === true) return reason;
  return [reason, describeWriter(writer)].filter((part) => part !== undefined).join("; ");
}

function staleBecause(error: unknown, writer: WriterStatus | undefined): Pick<SearchAnswer, "reason" | "action"> {
  if (MemoryError.is(error, "BUSY"))
    return { reason: withWriter(messageOf(error), writer), action: "Search again when it has finished." };
  return {
    reason: withWriter(`the index could not be updated: ${messageOf(error)}`, writer),
    action: "Run memslot memory index, then search again.",
  };
}

/** Syncs before the search without waiting for another process. Returns the error of a failed sync. */
async function syncFirst(context: CommandContext, memory: Memory, agent: AgentConfig): Promise<unknown> {
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
    context.output.notice(
      `indexed ${counted(done.added, "file")} of ${memory.workspaceDir}, ${describeLayout(notesLayout(memory.workspaceDir, agent.memorySearch.notes))}`,
    );
  if (done.pendingVectors !== undefined && done.added > 0)
    context.output.notice("run memslot memory index to embed the remaining chunks");
  return undefined;
}
