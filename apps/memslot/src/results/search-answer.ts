import { type AgentConfig, type SearchReport, type WriterStatus, describeReadings } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { filterNotes } from "../format/format-filters.ts";
import { formatReport } from "../format/format-report.ts";
import { type ResultOptions, foundIn, moreText, printResults } from "./print-results.ts";
import { type ResultLines, matchedWords } from "@memslot/indexing";
import { counted } from "../open/report-failed-files.ts";
import type { PlacedResult } from "./shown-path.ts";

/** What was found, and how far it can be believed. */
export interface SearchAnswer {
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

/** How an answer is to be printed. */
type AnswerOptions = ResultOptions & { minScore?: number };

/** The answer for programs: the results, and what is to be known of them. */
export function printAnswerJson(
  context: CommandContext,
  answer: SearchAnswer,
  results: readonly PlacedResult[],
  agent: AgentConfig,
  options: AnswerOptions,
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
    found: report?.found,
    underMinScore: options.minScore === undefined ? undefined : answer.underMinScore,
    conditions: report?.conditions,
    readings: report?.readings,
    excluded: report?.excluded,
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

/** The answer for people: the results on stdout, and what is to be known of them on stderr. */
export function printAnswer(
  { output }: CommandContext,
  answer: SearchAnswer,
  results: readonly PlacedResult[],
  query: string,
  options: AnswerOptions,
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
  const found = foundIn(report, results);
  printResults(output, results, matchedWords(query, report), options, found);
  if (state !== "ok" && results.length > 0) output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  // An empty or weak answer: what was asked for may stand where nobody has looked.
  else if (report?.unsearched !== undefined && results.length > 0)
    output.notice([reason && sentence(reason), action].filter(Boolean).join(" "));
  // Who pipes paths into another program reads no remarks.
  const isRead = options.count !== true && options.paths !== true && results.length > 0;
  const more = isRead ? moreText(found, results.length) : undefined;
  if (more !== undefined) output.notice(more);
  const excluded = isRead && state === "ok" ? (report?.excluded?.count ?? 0) : 0;
  if (excluded > 0)
    output.notice(
      `${counted(excluded, "note or folder is", "notes or folders are")} not searched; memslot memory status says why.`,
    );
  for (const line of filterNotes(answer)) output.notice(line);
  if (results.length > 0 && report?.match?.level === "none" && report.match.reason !== undefined)
    output.notice(sentence(report.match.reason));
  if (options.explain === true && report !== undefined) output.print(`\n${formatReport(report)}`);
}

function warningFor({ lines, state, reason }: SearchAnswer): string {
  if (state === "unavailable" && lines.length === 0)
    return `The memory could not be searched${reason === undefined ? "" : `: ${reason.replace(/\.$/u, "")}`}.`;
  return `The answer may be incomplete: the memory is ${state}${reason === undefined ? "" : `, ${reason.replace(/\.$/u, "")}`}.`;
}

function sentence(text: string): string {
  const ended = /[.!?。]$/u.test(text) ? text : `${text}.`;
  // A key or a path keeps its case.
  return /^\p{Ll}+ /u.test(ended) ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}
