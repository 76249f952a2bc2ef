import {
  type LineRange,
  type Memory,
  type MemoryProviderStatus,
  type MemorySearchResult,
  type SearchAnswer,
  type SearchMatch,
  type SearchReport,
  describeReadings,
  mostResults,
} from "@memslot/core";
import { isClientSource, sentence, weakConfidence } from "@memslot/core/host";
import { citationForm, citationsShown } from "../citations.ts";
import { type FailureAdvice, adviceForError, type ToolSetting } from "./tool-failures.ts";
import { frameTogether, recalledTextNote } from "./recalled-text.ts";
import type { MemoryToolHit, MemoryToolResult } from "./tool-types.ts";

interface Found extends SearchAnswer {
  setting: ToolSetting;
  memory: Memory;
  input: { corpus?: string | undefined; debug?: boolean | undefined };
  searchMs: number;
  toolMs: number;
}

const maxTextLength = 700;
const frameLength = 22;

const maxAnswerLength = 24_000;

/** The answer of `memory_search`: each fact once, and only those that a model needs; `debug` adds how the search ran. */
export function searchAnswer(found: Found): MemoryToolResult {
  const { setting, memory, results, report } = found;
  const { state, found: counts, dropped } = report;
  if (results.length === 0 && state === "unavailable") {
    const advice = adviceForError(report.reason ?? "memory is unavailable", setting);
    return unavailable({ ...advice, action: report.action ?? advice.action });
  }
  const leftOut = counts === undefined ? dropped.limit + (dropped.tokens ?? 0) : counts.passages - results.length;
  // The failure in a status may name a note; the report of a shared session may not.
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
      // Sentences are enough for a model: their codes are left out.
      ...(report.filters && { filters: { ...report.filters, unreadReasons: undefined } }),
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

function textOf({ heading, snippet }: MemorySearchResult): string {
  const whole = heading === undefined ? snippet : `[${heading}]\n${snippet}`;
  return whole.length + frameLength > maxTextLength ? snippet : whole;
}

function rangeText([from, to]: LineRange): string {
  return from === to ? String(from) : `${from}-${to}`;
}

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
    const why = match.reason ?? sentence("empty.weak").reason;
    const warning = `${match.level === "none" ? "No match" : "Weak match"}: ${why}. Use a result only if its text really answers.`;
    return { ...reason, warning, ...action };
  }
  return { ...reason, ...action };
}

function matchOf({ match, confidence }: SearchReport): SearchMatch | undefined {
  return match ?? (confidence === undefined ? undefined : { level: confidence < weakConfidence ? "weak" : "strong" });
}

const staleAction =
  "Use what was found. Where something recent is missing, search again in a moment, or read the note with memory_get.";

function isStale({ state, conditions = [] }: SearchReport): boolean {
  return state === "stale" || conditions.some((condition) => condition.state === "stale");
}

/** The process that writes the index, and its progress; a shared session gets neither names nor numbers of notes. */
function writerText({ writer }: MemoryProviderStatus, { shared }: ToolSetting): string[] {
  if (writer === undefined) return [];
  const { pid, reason, completed, total, label } = writer;
  const who = pid === process.pid ? "this process" : `process ${pid}`;
  const far = completed === undefined || total === undefined || shared ? "" : `, ${completed} of ${total}`;
  const what = label === undefined || shared ? "" : `, ${label}`;
  return [`The index is being brought up to date by ${who} (${reason}${far}${what}).`];
}

function debugOf({ setting, memory, report, searchMs, toolMs }: Found, fallback: SearchReport["fallback"]): object {
  const status = memory.status();
  return {
    backend: report.backend,
    provider: status.provider,
    model: status.model,
    mode: report.mode,
    configuredMode: status.custom?.searchMode,
    citations: setting.citations,
    // The sentence is enough for a model.
    conditions: report.conditions?.length
      ? report.conditions.map(({ state, reason, count }) => ({ state, reason, count }))
      : undefined,
    fallback,
    legs: report.legs,
    // The number of excluded private notes would say something about them.
    dropped: { ...report.dropped, audience: undefined },
    searchMs: oneDigit(searchMs),
    outsideSearchMs: oneDigit(toolMs - searchMs),
  };
}

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
