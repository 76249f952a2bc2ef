import {
  type AgentConfig,
  type SearchLeg,
  type SearchReport,
  type WriterStatus,
  describeReadings,
} from "@memslot/core";
import { type ResultLines, matchedWords } from "@memslot/indexing";
import type { CommandContext } from "../command-context.ts";
import { describeFilters, filterNotes } from "../format/format-filters.ts";
import { describeFallback, describeRerank } from "../format/describe-status.ts";
import { type ResultOptions, foundIn, moreText, printResults } from "./print-results.ts";
import { counted } from "../open/scan-summary.ts";
import type { PlacedResult } from "../format/shown-path.ts";

export interface SearchAnswer {
  /** The results, with displayed lines unless the output is for a program. */
  lines: ResultLines[];
  report: SearchReport | undefined;
  state: SearchReport["state"];
  reason: string | undefined;
  action: string | undefined;
  writer: WriterStatus | undefined;
  underMinScore: number;
}

type AnswerOptions = ResultOptions & { minScore?: number };

const shownFacts = "mode backend confidence match filters found conditions readings excluded unsearched fallback".split(
  " ",
) as (keyof SearchReport)[];

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
    ...Object.fromEntries(shownFacts.map((name) => [name, report?.[name]])),
    underMinScore: options.minScore === undefined ? undefined : answer.underMinScore,
    rerank: report?.rerank && { ...report.rerank, order: undefined },
    reason,
    action,
    writer: answer.writer,
    ...(state === "ok" ? {} : { stale: true, warning: warningFor(answer) }),
    ...(options.explain === true ? { report } : {}),
  });
}

/** The answer as text: the results on stdout, remarks on stderr. */
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
    // Output for other programs contains no sentences.
    if (options.paths === true || options.count === true) output.notice(nothing);
    else output.print(nothing);
  }
  const found = foundIn(report, results);
  printResults(output, results, matchedWords(query, report), options, found);
  if (state !== "ok" && results.length > 0) output.notice([warningFor(answer), action].filter(Boolean).join(" "));
  // A weak answer: the match may be in files that are not searched.
  else if (report?.unsearched !== undefined && results.length > 0)
    output.notice([reason && sentence(reason), action].filter(Boolean).join(" "));
  // No remarks beside paths and counts.
  const isRead = options.count !== true && options.paths !== true && results.length > 0;
  const more = isRead ? moreText(found, results.length) : undefined;
  if (more !== undefined) output.notice(more);
  const excluded = isRead && state === "ok" ? (report?.excluded?.count ?? 0) : 0;
  if (excluded > 0)
    output.notice(
      `${counted(excluded, "note or folder is", "notes or folders are")} not searched; run memslot memory status for the reasons.`,
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

/** The search report as text (`--explain`): what each retriever found, what was excluded, timings. */
function formatReport(report: SearchReport): string {
  const { dropped } = report;
  const timings = Object.entries(report.timingsMs ?? {}).map(
    ([step, ms]) => `${step === "legs" ? "search" : step} ${ms.toFixed(1)} ms`,
  );
  const rows: [string, string | undefined][] = [
    ["Backend", report.backend],
    ["Mode", report.mode],
    ["State", report.reason === undefined ? report.state : `${report.state}: ${report.reason}`],
    ["Next step", report.action],
    ["Query", report.filters && describeFilters(report.filters)],
    ["Keyword search", describeRetriever(report.legs.keyword)],
    ["Vector search", describeRetriever(report.legs.vector)],
    ["Reranker", report.rerank && describeRerank(report.rerank)],
    [
      "Excluded",
      `${dropped.minScore} by minimum score, ${dropped.source} by source, ${dropped.limit} by the limit, ${dropped.tokens ?? 0} by the token budget`,
    ],
    ["Confidence", describeMatch(report)],
    ["Semantic weight", report.meaning && describeScale(report.meaning)],
    ["Fallback", report.fallback && describeFallback(report.fallback)],
    ["Timings", timings.length === 0 ? undefined : timings.join(", ")],
    ["Score", "0 to 1, how well a passage answers; not a probability, comparable only within one answer"],
    ["Text score", "0 to 1, from matching words and names; 1 for a text equal to the query"],
    ["Vector score", "cosine similarity of passage and query"],
  ];
  return rows
    .flatMap(([label, value]) => (value === undefined ? [] : [`${`${label}:`.padEnd(17)}${value}`]))
    .join("\n");
}

function describeScale({ weight, mean, deviation }: NonNullable<SearchReport["meaning"]>): string {
  return `a similarity of ${deviation.toFixed(3)} above the mean ${mean.toFixed(3)} adds ${weight.toFixed(3)} to the score`;
}

function describeRetriever(retriever: SearchLeg | undefined): string {
  return retriever === undefined
    ? "not used"
    : `${counted(retriever.candidates, "candidate", "candidates")}, ${retriever.kept} in the answer`;
}

function describeMatch({ confidence, match }: SearchReport): string | undefined {
  const value = confidence?.toFixed(3);
  return match === undefined ? value : [`${match.level} (${value})`, match.reason].filter(Boolean).join(": ");
}
