import {
  type AgentConfig,
  type Memory,
  type SearchLeg,
  type SearchOrder,
  type SearchReport,
  type SyncReport,
  type WriterStatus,
  MemoryError,
  describeReadings,
  isAbort,
  messageOf,
} from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import { chooseAgent } from "../../open/agents.ts";
import type { CommandContext } from "../../command-context.ts";
import { disabledReason, printDisabled } from "../../open/disabled-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { describeWriter } from "../../format/format-writer.ts";
import { readConfig } from "../../open/read-config.ts";
import { readQuery } from "../../open/read-query.ts";
import { counted } from "../../open/report-failed-files.ts";
import { type ResultOptions, countLimit, printResults, refuseMixed } from "../../results/print-results.ts";
import { type ResultLines, resultLines } from "../../results/result-lines.ts";
import { type PlacedResult, placeResults } from "../../results/shown-path.ts";
import { sortResults } from "../../results/sort-results.ts";
import { syncWithProgress } from "../../open/sync-with-progress.ts";
import { withMemory } from "../../open/with-memory.ts";
import { describeRerank } from "../../format/format-rerank.ts";
import { describeFilters, filterNotes } from "../../format/format-filters.ts";
import { describeLayout } from "../../format/format-layout.ts";
import { describeFallback } from "../../format/format-fallback.ts";

export interface MemorySearchCommandOptions extends ResultOptions {
  query?: string;
  agent?: string;
  maxResults?: number;
  maxTokens?: number;
  minScore?: number;
  source?: readonly string[];
  since?: string;
  until?: string;
  order?: SearchOrder;
}

/** An answer is led by its budget of tokens: this is only so that it is no list of names. */
const mostResults = 12;
const mostTokens = 4000;

/** What was found, and how far it can be believed. */
interface Answer {
  /** The results, and for people the lines that are shown of them. */
  lines: ResultLines[];
  report: SearchReport | undefined;
  state: SearchReport["state"];
  reason: string | undefined;
  action: string | undefined;
  /** Another process that is at work on the index. */
  writer: WriterStatus | undefined;
  /** Results that score less than is asked for, by `--min-score`. */
  underMinScore: number;
}

/** `memslot memory search`: brings the index up to date, then asks. */
export async function memorySearch(
  context: CommandContext,
  options: MemorySearchCommandOptions,
  ...words: string[]
): Promise<number> {
  refuseMixed(options);
  const query = await readQuery(context, { named: options.query, words });
  const config = await readConfig(context, { lookAround: true });
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    printDisabled(context, agent.id, disabled, options);
    return ExitCode.ok;
  }
  const answer = await withMemory(context, config, agent, (memory) => ask(context, memory, agent, query, options), {
    warm: true,
    oneShot: true,
  });
  const places = { cwd: context.cwd, workspaceDir: agent.workspaceDir, stateDir: config.stateDir, agentId: agent.id };
  const results = await sortResults(placeResults(answer.lines, places), options.sort ?? "relevance");
  if (options.json === true) printJson(context, answer, results, agent, options);
  else printForPeople(context, answer, results, query, options);
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
  const found = await memory.search(query, {
    maxResults: options.maxResults ?? (options.count === true ? countLimit : undefined),
    defaultMaxResults: mostResults,
    // Who says how many is not to be told less for want of room.
    maxTokens:
      options.maxTokens ?? (options.maxResults !== undefined || options.count === true ? mostTokens : undefined),
    minScore: options.minScore,
    sources: options.source,
    since: options.since,
    until: options.until,
    order: options.order,
    signal: context.signal,
    onDebug: (given) => {
      report = given;
    },
  });
  // A memory returns what holds the query whole, however it scores. Who names a score here wants none under it.
  const results = found.filter(({ score }) => score >= (options.minScore ?? 0));
  let given = report as SearchReport | undefined;
  const dropped = given?.dropped.minScore ?? 0;
  const underMinScore = options.minScore === undefined ? 0 : dropped + found.length - results.length;
  if (given && found.length > results.length)
    given = { ...given, dropped: { ...given.dropped, minScore: underMinScore } };
  const { state = "ok", action } = given ?? {};
  const reason = results.length === 0 && found.length > 0 ? allUnder(underMinScore, options.minScore) : given?.reason;
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

function allUnder(count: number, minScore: number | undefined): string {
  return count === 1
    ? `the one result scores less than ${minScore}`
    : `all ${count} results score less than ${minScore}`;
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
    context.output.notice(
      `indexed ${counted(done.added, "file")} of ${memory.workspaceDir}, ${describeLayout(notesLayout(memory.workspaceDir, agent.memorySearch.notes))}`,
    );
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
  results: readonly PlacedResult[],
  agent: AgentConfig,
  options: MemorySearchCommandOptions,
): void {
  const { report, state, reason, action } = answer;
  context.output.printJson({
    results: results.map(({ result }) => result),
    agentId: agent.id,
    state,
    mode: report?.mode,
    backend: report?.backend,
    confidence: report?.confidence,
    match: report?.match,
    filters: report?.filters,
    underMinScore: options.minScore === undefined ? undefined : answer.underMinScore,
    conditions: report?.conditions,
    readings: report?.readings,
    unsearched: report?.unsearched,
    fallback: report?.fallback,
    rerank: report?.rerank && { ...report.rerank, order: undefined },
    reason,
    action,
    writer: answer.writer,
    ...(state === "ok" ? {} : { stale: true, warning: warningFor(answer) }),
    ...(options.explain === true ? { report } : {}),
  });
}

function printForPeople(
  { output }: CommandContext,
  answer: Answer,
  results: readonly PlacedResult[],
  query: string,
  options: MemorySearchCommandOptions,
): void {
  const { report, state, reason, action } = answer;
  if (report?.readings !== undefined) output.notice(`${describeReadings(report.readings)}.`);
  if (state === "unavailable" && results.length === 0) {
    output.notice([warningFor(answer), action].filter(Boolean).join(" "));
    if (options.explain === true && report !== undefined) output.print(`\n${formatReport(report)}`);
    return;
  }
  if (results.length === 0) {
    const nothing = ["No matches.", reason && sentence(reason), action && sentence(action)].filter(Boolean).join(" ");
    // What other programs read holds no sentence.
    if (options.paths === true || options.count === true) output.notice(nothing);
    else output.print(nothing);
  }
  printResults(output, results, matchedWords(query, report), options);
  if (state !== "ok" && results.length > 0) output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  // An empty or weak answer: what was asked for may stand where nobody has looked.
  else if (report?.unsearched !== undefined && results.length > 0)
    output.notice([reason && sentence(reason), action].filter(Boolean).join(" "));
  if (options.count === true && report !== undefined && leftOut(report) > 0)
    output.notice(`${leftOut(report)} more were found and are not counted: over the limit of results`);
  for (const line of filterNotes(answer)) output.notice(line);
  if (results.length > 0 && report?.match?.level === "none" && report.match.reason !== undefined)
    output.notice(sentence(report.match.reason));
  if (options.explain === true && report !== undefined) output.print(`\n${formatReport(report)}`);
}

function warningFor({ lines, state, reason }: Answer): string {
  if (state === "unavailable" && lines.length === 0)
    return `The memory could not be searched${reason === undefined ? "" : `: ${reason.replace(/\.$/u, "")}`}.`;
  return `The answer may be incomplete: the memory is ${state}${reason === undefined ? "" : `, ${reason.replace(/\.$/u, "")}`}.`;
}

/** What is looked for in the lines: not the filters of a question. */
function matchedWords(query: string, report: SearchReport | undefined): string {
  const { filters } = report ?? {};
  return filters === undefined ? query : [filters.words, ...(filters.phrases ?? [])].join(" ");
}

function describeMatch({ confidence, match }: SearchReport): string | undefined {
  const value = confidence?.toFixed(3);
  return match === undefined ? value : [`${match.level} (${value})`, match.reason].filter(Boolean).join(": ");
}

function leftOut({ dropped }: SearchReport): number {
  return dropped.limit + (dropped.tokens ?? 0);
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
    ["Read as", report.filters && describeFilters(report.filters)],
    ["Keyword leg", describeLeg(report.legs.keyword)],
    ["Vector leg", describeLeg(report.legs.vector)],
    ["Reranker", report.rerank && describeRerank(report.rerank)],
    [
      "Left out",
      `${dropped.minScore} by min score, ${dropped.source} by source, ${dropped.limit} by the limit, ${dropped.tokens ?? 0} for want of room`,
    ],
    ["Confidence", describeMatch(report)],
    ["Meaning", report.meaning && describeScale(report.meaning)],
    ["Fallback", report.fallback && describeFallback(report.fallback)],
    ["Timings", timings.length === 0 ? undefined : timings.join(", ")],
    ["Score", "0 to 1, how well a passage answers; no probability, and comparable within one answer only"],
    ["Text score", "0 to 1, what its words and names give, against a text that is the query itself"],
    ["Vector score", "the cosine of its meaning and that of the query"],
  ];
  return rows
    .flatMap(([label, value]) => (value === undefined ? [] : [`${`${label}:`.padEnd(14)}${value}`]))
    .join("\n");
}

function describeScale({ weight, mean, deviation }: NonNullable<SearchReport["meaning"]>): string {
  return `${deviation.toFixed(3)} of similarity above the usual ${mean.toFixed(3)} is worth ${weight.toFixed(3)} of words`;
}

function describeLeg(leg: SearchLeg | undefined): string {
  return leg === undefined ? "not asked" : `${leg.candidates} candidates, ${leg.kept} in the answer`;
}
