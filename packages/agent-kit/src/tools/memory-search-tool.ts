import { isClientSource, type Memory, MemoryError, type Rest, type SearchAnswer, mostResults } from "@memslot/core";
import { inTime, type FailureAdvice, adviceForError, adviceForTimeout, type ToolSetting } from "./tool-setting.ts";
import type { MemoryTool, MemoryToolResult } from "./memory-tool.ts";
import { recalledTextNote, type RecentRecalls } from "./recalled-text.ts";
import { searchAnswer, unavailable } from "./search-answer.ts";
import { type CheckedInput, type InputFields, checkInput, inputSchemaOf, badInput } from "./tool-input.ts";

const fields = {
  query: {
    type: "string",
    required: true,
    mayBeBlank: true,
    description:
      "What to look for: the words that a note about it would hold, in the notes' own language; with since, may be empty. Filters: " +
      '"exact phrase", -word, path:folder/, tag:name, source:name, after:2024-05, before:2025.',
  },
  maxResults: {
    type: "integer",
    minimum: 1,
    maximum: 200,
    description: `How many results at most; there are never more than ${mostResults}.`,
  },
  maxTokens: {
    type: "integer",
    minimum: 100,
    maximum: 4000,
    description: "Tokens of note text in the answer, 1000 if left out. Ask for 2000 when the answer is a list.",
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
  since: {
    type: "string",
    description: 'Only what is of this day or later: 2026-03-05, 2026-03, 2026 or "last week".',
  },
  until: { type: "string", description: "Only what is of this day or earlier, in the same forms." },
  order: {
    type: "string",
    values: ["relevance", "newest", "oldest"],
    description: "newest or oldest: good matches by their days. Default: relevance.",
  },
  debug: { type: "boolean", description: "Tell how it was searched. Only for finding faults." },
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
      "Search long-term memory (Markdown notes and, where set up, past conversations) for prior work, decisions, dates, people, preferences and todos. " +
      "Returns the lines that answer, best note first, with path and line numbers (… stands for what was left out, lines names those that are shown); read more around them with memory_get. more says how many results had no room. " +
      `An empty list is to be believed only when state is "ok". ${recalledTextNote}`,
    inputSchema: inputSchemaOf(fields),
    execute: async (input, options = {}) => {
      const startedMs = setting.now();
      const checked = checkInput(fields, input);
      if (!checked.ok) return badQuery(checked.field, checked.error);
      const problem = queryProblem(checked.values);
      if (problem !== undefined) return badQuery("query", problem);
      if ("error" in setting.opened) return unavailable(adviceForError(setting.opened.error, setting));
      const { memory } = setting.opened;
      const failed = cooldown.current();
      if (failed !== undefined) return unavailable(failed.failure, { retryAfterMs: Math.ceil(failed.remainingMs) });

      let searchMs = 0;
      try {
        const outcome = await inTime(
          async (signal) => {
            const searchStartedMs = setting.now();
            const answer = await ask(memory, { ...checked.values, sessionKey: setting.sessionKey }, signal);
            searchMs = setting.now() - searchStartedMs;
            return answer;
          },
          { timeoutMs: setting.deadlineMs, signal: options.signal },
        );
        if (outcome.timedOut) {
          const advice = adviceForTimeout(setting.deadlineMs);
          cooldown.start(advice, setting.cooldownMs);
          return unavailable(advice, { timedOut: true, timeoutMs: setting.deadlineMs });
        }
        cooldown.end();
        recalls.keep(outcome.value.results.map(({ snippet, ...place }) => ({ ...place, text: snippet })));
        return searchAnswer({
          setting,
          memory,
          input: checked.values,
          ...outcome.value,
          searchMs,
          toolMs: setting.now() - startedMs,
        });
      } catch (error) {
        // The caller's own abort stays one; an abort from inside is a failure like any other.
        if (options.signal?.aborted) throw error;
        // What the check above lets through and memory does not take says nothing about memory's health.
        if (MemoryError.is(error, "INVALID_ARGUMENT"))
          return badQuery(Object.keys(fields).find((name) => error.message.startsWith(name)) ?? "query", error.message);
        const advice = adviceForError(error, setting);
        // Another process is at work, which may be over the next moment: memory itself is well.
        if (!MemoryError.is(error, "BUSY")) cooldown.start(advice, setting.cooldownMs);
        return unavailable(advice);
      }
    },
  };
}

function ask(
  memory: Memory,
  input: SearchInput & { sessionKey: string | undefined },
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const { query, maxTokens, minScore, corpus, since, until, order, sessionKey } = input;
  const maxResults = input.maxResults === undefined ? undefined : Math.min(mostResults, input.maxResults);
  const sources = corpus === undefined || corpus === "all" ? undefined : sourcesOf(corpus, memory);
  return memory.ask(query, {
    maxResults,
    defaultMaxResults: mostResults,
    maxTokens,
    minScore,
    sources,
    since,
    until,
    order,
    sessionKey,
    signal,
  });
}

/** Past conversations are those of this host, and those of other programs that are set up. */
function sourcesOf(corpus: string, memory: Memory): string[] {
  const known = memory.status().sources ?? [];
  const others = corpus === "sessions" ? known.filter(isClientSource) : [];
  return others.length === 0 || known.includes(corpus) ? [corpus, ...others] : others;
}

/** Memory would cut it and search with its beginning, which a model does not notice. */
function queryProblem({ query, since, until, order = "relevance" }: SearchInput): string | undefined {
  if (query.trim() === "" && since === undefined && until === undefined && order === "relevance")
    return "query is empty";
  // As memory counts them: letters outside the first plane are one each.
  const length = query.length <= queryLimit ? query.length : [...query].length;
  if (length <= queryLimit) return undefined;
  return `query has ${length.toLocaleString("en-US")} characters, and at most ${queryLimit.toLocaleString("en-US")} are searched: ask with the few words that matter`;
}

function badQuery(field: string, error: string): MemoryToolResult {
  return { results: [], ...badInput("memory_search", field, error) };
}
