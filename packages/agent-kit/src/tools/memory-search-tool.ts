import {
  type Memory,
  MemoryError,
  type MemoryProviderStatus,
  type MemorySearchResult,
  type Rest,
  type SearchReport,
  describeReadings,
  weakConfidence,
} from "@memslot/core";
import { citationsShown, withCitation, withoutCitation } from "./citations.ts";
import { inTime } from "../deadline.ts";
import { type FailureAdvice, adviceForError, adviceForTimeout } from "./failure-advice.ts";
import type { MemoryTool } from "./memory-tool.ts";
import { recalledTextNote } from "./recalled-text.ts";
import type { RecentRecalls } from "./recent-recalls.ts";
import type { ToolSetting } from "./tool-setting.ts";
import { type CheckedInput, type InputFields, checkInput, inputSchemaOf } from "./tool-input.ts";

const fields = {
  query: {
    type: "string",
    required: true,
    description: "What to look for: the words that a note about it would hold, in the notes' own language.",
  },
  maxResults: {
    type: "integer",
    minimum: 1,
    maximum: 200,
    description: "How many results at most. Ask for 10 to 12 when the answer is a list.",
  },
  minScore: {
    type: "number",
    minimum: 0,
    maximum: 1,
    description: "Leave out results below this score, but for those that hold every word of the query. Rarely needed.",
  },
  corpus: {
    type: "string",
    values: ["memory", "sessions", "journal", "all"],
    description:
      "Which kind of memory: the notes, past conversations, what this and earlier conversations have dropped, or all that is set up (the default).",
  },
} as const satisfies InputFields;

type SearchInput = CheckedInput<typeof fields>;

const queryLimit = 10_000;

export function memorySearchTool(
  setting: ToolSetting,
  cooldown: Rest<FailureAdvice>,
  recalls: RecentRecalls,
): MemoryTool {
  return {
    name: "memory_search",
    description:
      "Search long-term memory (MEMORY.md, USER.md, memory/**/*.md and, where set up, past conversations) for prior work, decisions, dates, people, preferences and todos. " +
      "Returns ranked snippets with path and line numbers; read more around them with memory_get. " +
      `An empty list is to be believed only when state is "ok". ${recalledTextNote}`,
    inputSchema: inputSchemaOf(fields),
    execute: async (input, options = {}) => {
      const startedMs = setting.now();
      const checked = checkInput(fields, input);
      if (!checked.ok) return badInput(checked.field, checked.error);
      const tooLong = queryProblem(checked.values.query);
      if (tooLong !== undefined) return badInput("query", tooLong);
      if ("error" in setting.opened) return unavailable(adviceForError(setting.opened.error, setting));
      const { memory } = setting.opened;
      const failed = cooldown.current();
      if (failed !== undefined) return unavailable(failed.failure, { retryAfterMs: Math.ceil(failed.remainingMs) });

      let report: SearchReport | undefined;
      let searchMs = 0;
      try {
        const outcome = await inTime(
          async (signal) => {
            const searchStartedMs = setting.now();
            const results = await search(
              memory,
              { ...checked.values, sessionKey: setting.sessionKey },
              signal,
              (given) => (report = given),
            );
            searchMs = setting.now() - searchStartedMs;
            return results;
          },
          { timeoutMs: setting.deadlineMs, signal: options.signal },
        );
        if (outcome.timedOut) {
          const advice = adviceForTimeout(setting.deadlineMs);
          cooldown.start(advice, setting.cooldownMs);
          return unavailable(advice, { timedOut: true, timeoutMs: setting.deadlineMs });
        }
        cooldown.end();
        recalls.keep(outcome.value.map(({ snippet, ...place }) => ({ ...place, text: snippet })));
        return answer({
          setting,
          memory,
          input: checked.values,
          results: outcome.value,
          report,
          searchMs,
          toolMs: setting.now() - startedMs,
        });
      } catch (error) {
        // The caller's own abort stays one; an abort from inside is a failure like any other.
        if (options.signal?.aborted) throw error;
        // What the check above lets through and memory does not take says nothing about memory's health.
        if (MemoryError.is(error, "INVALID_ARGUMENT")) return badInput("arguments", error.message);
        const advice = adviceForError(error, setting);
        // Another process is at work, which may be over the next moment: memory itself is well.
        if (!MemoryError.is(error, "BUSY")) cooldown.start(advice, setting.cooldownMs);
        return unavailable(advice);
      }
    },
  };
}

function search(
  memory: Memory,
  input: SearchInput & { sessionKey: string | undefined },
  signal: AbortSignal,
  onDebug: (report: SearchReport) => void,
): Promise<MemorySearchResult[]> {
  const { query, maxResults, minScore, corpus, sessionKey } = input;
  const sources = corpus === undefined || corpus === "all" ? undefined : [corpus];
  return memory.search(query, { maxResults, minScore, sources, sessionKey, signal, onDebug });
}

interface Found {
  setting: ToolSetting;
  memory: Memory;
  input: SearchInput;
  results: MemorySearchResult[];
  report: SearchReport | undefined;
  searchMs: number;
  toolMs: number;
}

function answer(found: Found): object {
  const { setting, memory, results, report } = found;
  const status = memory.status();
  const mode = report?.mode ?? status.custom?.searchMode ?? "keyword";
  const state = report?.state ?? "ok";
  if (results.length === 0 && state === "unavailable") {
    const advice = adviceForError(report?.reason ?? "memory is unavailable", setting);
    return unavailable({ ...advice, action: report?.action ?? advice.action });
  }
  // What a status says of a failure may name a note; the report of a shared session is made for others to read.
  const fallback = report?.fallback ?? (setting.shared ? undefined : status.fallback);
  const cite = citationsShown(setting.citations, setting.chatType) ? withCitation : withoutCitation;
  return {
    results: results.map((result) => ({ ...cite(result), corpus: result.source })),
    provider: status.provider,
    model: status.model,
    fallback,
    citations: setting.citations,
    mode,
    state,
    ...(isStale(report, state) && { stale: true }),
    conditions: report?.conditions?.length ? report.conditions : undefined,
    confidence: report?.confidence,
    ...(report?.readings && { notes: describeReadings(report.readings) }),
    ...explanation(found, state),
    ...(results.length > 0 && { note: recalledTextNote }),
    debug: {
      backend: report?.backend ?? status.backend,
      configuredMode: status.custom?.searchMode ?? mode,
      effectiveMode: mode,
      fallback,
      searchMs: rounded(found.searchMs),
      toolMs: rounded(found.toolMs),
      outsideSearchMs: rounded(found.toolMs - found.searchMs),
      hits: results.length,
      candidateHits: candidates(report),
      legs: report?.legs,
      dropped: droppedShown(report),
    },
  };
}

/** Why the list is empty, weak or not to be taken at face value, and what to do about it. */
function explanation(found: Found, state: string): { reason?: string; warning?: string; action?: string } {
  const { report, results, input, memory } = found;
  const text: { reason?: string; warning?: string; action?: string } = {};
  if (report?.reason !== undefined) text.reason = report.reason;
  if (report?.action !== undefined) text.action = report.action;
  if (state !== "ok") {
    const atWork = isStale(report, state) ? writerText(memory.status(), found.setting) : undefined;
    text.warning = [
      `The answer may be incomplete, memory is ${state}${report?.reason === undefined ? "" : `: ${report.reason}`}.`,
      ...(atWork === undefined ? [] : [`${atWork}.`]),
      ...(report?.fallback?.retryAt === undefined
        ? []
        : [`"${report.fallback.from}" is tried again by the first search after ${report.fallback.retryAt}.`]),
    ].join(" ");
    if (isStale(report, state))
      text.action ??=
        "Use what was found. Where something recent is missing, search again in a moment, or read the note with memory_get.";
  } else if (results.length === 0) {
    const missing = input.corpus === "sessions" && memory.status().sources?.includes("sessions") === false;
    if (missing) {
      text.reason = "past conversations are not part of this memory";
      text.action = 'Search corpus "memory", or add "sessions" to memorySearch.sources.';
    }
    text.reason ??= "nothing in memory matched";
    text.action ??= found.setting.shared
      ? "Try other words, or say that nothing was found that may be told here."
      : "Try other words, or say that memory holds nothing on it.";
  } else if (report?.confidence !== undefined && report.confidence < weakConfidence) {
    text.warning =
      "Weak match: the best result holds little of what was asked. Use it only if its text really answers.";
  }
  return text;
}

/** Whether files have changed that memory does not know yet, whatever else is the case. */
function isStale(report: SearchReport | undefined, state: string): boolean {
  return state === "stale" || report?.conditions?.some((condition) => condition.state === "stale") === true;
}

/** Who is at work on the index and how far, where somebody is. The name of a note and how many there are is not for everybody. */
function writerText({ writer }: MemoryProviderStatus, { shared }: ToolSetting): string | undefined {
  if (writer === undefined) return undefined;
  const { pid, reason, completed, total, label } = writer;
  const who = pid === process.pid ? "this process" : `process ${pid}`;
  const far = completed === undefined || total === undefined || shared ? "" : `, ${completed} of ${total}`;
  const what = label === undefined || shared ? "" : `, ${label}`;
  return `The index is being brought up to date by ${who} (${reason}${far}${what})`;
}

/** Without the count of private notes: in the session where they are left out, it would say what they hold. */
function droppedShown(report: SearchReport | undefined): Omit<SearchReport["dropped"], "audience"> | undefined {
  if (report === undefined) return undefined;
  const { audience: _, ...dropped } = report.dropped;
  return dropped;
}

function candidates(report: SearchReport | undefined): number | undefined {
  if (report === undefined) return undefined;
  return (report.legs.keyword?.candidates ?? 0) + (report.legs.vector?.candidates ?? 0);
}

function unavailable(
  advice: FailureAdvice,
  more: { timedOut?: true; timeoutMs?: number; retryAfterMs?: number } = {},
): object {
  return {
    results: [],
    disabled: true,
    unavailable: true,
    ...advice,
    ...more,
    debug: { ...advice, ...more },
  };
}

/** Memory would cut it and search with its beginning, which a model does not notice. */
function queryProblem(query: string): string | undefined {
  // As memory counts them: letters outside the first plane are one each.
  const length = query.length <= queryLimit ? query.length : [...query].length;
  if (length <= queryLimit) return undefined;
  return `query has ${length.toLocaleString("en-US")} characters, and at most ${queryLimit.toLocaleString("en-US")} are searched: ask with the few words that matter`;
}

function badInput(field: string, error: string): object {
  return {
    results: [],
    status: "error",
    code: "INVALID_ARGUMENT",
    field,
    error,
    action: `Correct "${field}" and call memory_search again.`,
  };
}

function rounded(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}
