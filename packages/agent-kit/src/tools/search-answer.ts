import {
  type LineRange,
  type Memory,
  type MemoryProviderStatus,
  type MemorySearchResult,
  type SearchAnswer,
  type SearchMatch,
  type SearchReport,
  describeReadings,
  isClientSource,
  mostResults,
  weakConfidence,
} from "@memslot/core";
import { citationForm, citationsShown } from "../citations.ts";
import { type FailureAdvice, adviceForError, type ToolSetting } from "./tool-setting.ts";
import { frameTogether, recalledTextNote } from "./recalled-text.ts";
import type { MemoryToolHit, MemoryToolResult } from "./memory-tool.ts";

/** What a search has found, and what is to be told of it. */
interface Found extends SearchAnswer {
  setting: ToolSetting;
  memory: Memory;
  input: { corpus?: string | undefined; debug?: boolean | undefined };
  searchMs: number;
  toolMs: number;
}

/** A text with its frame is no longer, where the memory keeps to the length that it promises. */
const maxTextLength = 700;
/** `>>> 493827` before it and `<<< 493827` behind it, each on a line of its own. */
const frameLength = 22;

/** No answer is longer, in characters of its JSON, however long the paths and headings in it are. */
const maxAnswerLength = 24_000;

/**
 * The answer of `memory_search`: each thing once, and nothing that a model does not need. How it was found is told where
 * it is asked for.
 */
export function searchAnswer(found: Found): MemoryToolResult {
  const { setting, memory, results, report } = found;
  const { state, found: counts, dropped } = report;
  if (results.length === 0 && state === "unavailable") {
    const advice = adviceForError(report.reason ?? "memory is unavailable", setting);
    return unavailable({ ...advice, action: report.action ?? advice.action });
  }
  const leftOut = counts === undefined ? dropped.limit + (dropped.tokens ?? 0) : counts.passages - results.length;
  // What a status says of a failure may name a note; the report of a shared session is made for others to read.
  const fallback = report.fallback ?? (setting.shared ? undefined : memory.status().fallback);
  const answerWith = (shown: readonly MemorySearchResult[]): MemoryToolResult => {
    const more = leftOut + results.length - shown.length;
    return {
      results: shownResults(shown),
      ...(more > 0 && { more }),
      ...(counts?.more === true && { atLeast: true }),
      ...(shown.length > 0 && citationsShown(setting.citations, setting.chatType) && { cite: citationForm }),
      state,
      ...(isStale(report) && { stale: true }),
      ...(report.filters && { filters: report.filters }),
      ...(report.excluded && report.excluded.count > 0 && { notesNotSearched: report.excluded.count }),
      ...(shown.length > 0 && matchOf(report) && { confidence: matchOf(report)?.level }),
      ...(fallback && { fallback: { from: fallback.from, to: fallback.to } }),
      ...(report.readings && { notes: describeReadings(report.readings) }),
      ...explanation(found),
      ...(shown.some(({ snippet }) => supersededLine.test(snippet)) && { history: historyNote }),
      ...(shown.length > 0 && { note: recalledTextNote }),
      ...(found.input.debug === true && { debug: debugOf(found, fallback) }),
    };
  };
  let shown = results.slice(0, mostResults);
  let answer = answerWith(shown);
  while (shown.length > 1 && JSON.stringify(answer).length > maxAnswerLength) {
    shown = shown.slice(0, -1);
    answer = answerWith(shown);
  }
  return answer;
}

/** As `memory_edit` strikes a line with `supersedes`. */
const supersededLine = /~~ \(superseded \d{4}-\d{2}-\d{2}: \[\[#\^/u;
const historyNote =
  "Struck lines (~~…~~, superseded) are history: what holds now is the line that ends with the same ^id.";

function shownResults(results: readonly MemorySearchResult[]): MemoryToolHit[] {
  const framed = frameTogether(results.map(textOf));
  return results.map((result, index) => {
    const { path, lines = [], score, source } = result;
    return {
      path,
      startLine: lines[0]?.[0] ?? result.startLine,
      endLine: lines.at(-1)?.[1] ?? result.endLine,
      ...(lines.length > 1 && { lines: lines.map(rangeText).join(",") }),
      snippet: framed[index] ?? "",
      score: twoDigits(score),
      ...(source !== "memory" && { source }),
    };
  });
}

/** The lines under their heading, which is words of a note like the rest, where there is room for both. */
function textOf({ heading, snippet }: MemorySearchResult): string {
  const whole = heading === undefined ? snippet : `[${heading}]\n${snippet}`;
  return whole.length + frameLength > maxTextLength ? snippet : whole;
}

function rangeText([from, to]: LineRange): string {
  return from === to ? String(from) : `${from}-${to}`;
}

/** Why the list is empty, weak or not to be taken at face value, and what to do about it. */
function explanation(found: Found): { reason?: string; warning?: string; action?: string } {
  const { report, results, input, memory, setting } = found;
  const { state } = report;
  const action = report.action === undefined ? {} : { action: report.action };
  if (state !== "ok") {
    const stale = isStale(report);
    const warning = [
      `The answer may be incomplete, memory is ${state}${report.reason === undefined ? "" : `: ${report.reason}`}.`,
      ...(results.length === 0 ? ["Say that not all of memory was searched, not that it holds nothing."] : []),
      ...(stale ? writerText(memory.status(), setting) : []),
      ...(report.fallback?.retryAt === undefined
        ? []
        : [`"${report.fallback.from}" is tried again by the first search after ${report.fallback.retryAt}.`]),
    ].join(" ");
    return { warning, ...(stale && { action: staleAction }), ...action };
  }
  if (results.length === 0) {
    const known = memory.status().sources ?? ["sessions"];
    if (input.corpus === "sessions" && !known.some((source) => source === "sessions" || isClientSource(source))) {
      return {
        reason: "past conversations are not part of this memory",
        action: 'Search corpus "memory", or add "sessions" to memorySearch.sources.',
      };
    }
    const usual = setting.shared
      ? "Try other words, or say that nothing was found that may be told here."
      : "Try other words, or say that memory holds nothing on it.";
    return { reason: report.reason ?? "nothing in memory matched", action: usual, ...action };
  }
  const reason = report.reason === undefined ? {} : { reason: report.reason };
  const match = matchOf(report);
  if (match !== undefined && match.level !== "strong") {
    const why = match.reason ?? "the best result holds little of what was asked";
    const warning = `${match.level === "none" ? "No match" : "Weak match"}: ${why}. Use a result only if its text really answers.`;
    return { ...reason, warning, ...action };
  }
  return { ...reason, ...action };
}

/** A manager that tells no more than a number is believed by that. */
function matchOf({ match, confidence }: SearchReport): SearchMatch | undefined {
  return match ?? (confidence === undefined ? undefined : { level: confidence < weakConfidence ? "weak" : "strong" });
}

const staleAction =
  "Use what was found. Where something recent is missing, search again in a moment, or read the note with memory_get.";

/** Whether files have changed that memory does not know yet, whatever else is the case. */
function isStale({ state, conditions = [] }: SearchReport): boolean {
  return state === "stale" || conditions.some((condition) => condition.state === "stale");
}

/** Who is at work on the index and how far, where somebody is. The name of a note and how many there are is not for everybody. */
function writerText({ writer }: MemoryProviderStatus, { shared }: ToolSetting): string[] {
  if (writer === undefined) return [];
  const { pid, reason, completed, total, label } = writer;
  const who = pid === process.pid ? "this process" : `process ${pid}`;
  const far = completed === undefined || total === undefined || shared ? "" : `, ${completed} of ${total}`;
  const what = label === undefined || shared ? "" : `, ${label}`;
  return [`The index is being brought up to date by ${who} (${reason}${far}${what}).`];
}

/** How it was searched, for whoever looks for a fault. */
function debugOf({ setting, memory, report, searchMs, toolMs }: Found, fallback: SearchReport["fallback"]): object {
  const status = memory.status();
  return {
    backend: report.backend,
    provider: status.provider,
    model: status.model,
    mode: report.mode,
    configuredMode: status.custom?.searchMode,
    citations: setting.citations,
    conditions: report.conditions?.length ? report.conditions : undefined,
    fallback,
    legs: report.legs,
    // The count of private notes would say what they hold in the session where they are left out.
    dropped: { ...report.dropped, audience: undefined },
    searchMs: oneDigit(searchMs),
    outsideSearchMs: oneDigit(toolMs - searchMs),
  };
}

/** The answer of a memory that could not be searched. */
export function unavailable(
  advice: FailureAdvice,
  more: { timedOut?: true; timeoutMs?: number; retryAfterMs?: number } = {},
): MemoryToolResult {
  return { results: [], disabled: true, unavailable: true, ...advice, ...more };
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
}

function oneDigit(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
