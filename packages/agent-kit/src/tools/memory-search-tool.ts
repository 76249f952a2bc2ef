import { type Memory, MemoryError, type SearchAnswer, mostResults } from "@memslot/core";
import { isClientSource, type Cooldown } from "@memslot/core/host";
import type { MemoryTool, MemoryToolResult } from "./tool-types.ts";
import type { RecentRecalls } from "./recalled-text.ts";
import { searchAnswer, unavailable } from "./search-tool-answer.ts";
import { badInput, toolOf } from "./tool-input.ts";
import { adviceForError, adviceForTimeout, type FailureAdvice, inTime, type ToolSetting } from "./tool-failures.ts";

interface SearchInput {
  readonly query: string;
  readonly maxResults?: number;
  readonly maxTokens?: number;
  readonly minScore?: number;
  readonly corpus?: "memory" | "sessions" | "journal" | "all";
  readonly since?: string;
  readonly until?: string;
  readonly order?: "relevance" | "newest" | "oldest";
  readonly debug?: boolean;
}

const queryLimit = 10_000;

/** Arguments that memory names at the begin of its message. */
const aboutField = /^(?:maxResults|maxTokens|minScore|corpus|since|until|order|debug)/u;

/** `memory_search`. After a failure it does not ask memory again until the cooldown is over. */
export function memorySearchTool(
  setting: ToolSetting,
  cooldown: Cooldown<FailureAdvice>,
  recalls: RecentRecalls,
): MemoryTool {
  const { opened, deadlineMs, cooldownMs, now, sessionKey } = setting;
  return toolOf<SearchInput>("memory_search", search, badQuery);

  async function search(input: SearchInput, signal: AbortSignal | undefined): Promise<MemoryToolResult> {
    const startedMs = now();
    const problem = queryProblem(input);
    if (problem !== undefined) return badQuery("query", problem);
    if ("error" in opened) return unavailable(adviceForError(opened.error, setting));
    const { memory } = opened;
    const failed = cooldown.current();
    if (failed !== undefined) return unavailable(failed.failure, { retryAfterMs: Math.ceil(failed.remainingMs) });

    let searchMs = 0;
    const timed = async (inner: AbortSignal): Promise<SearchAnswer> => {
      const searchStartedMs = now();
      const answer = await ask(memory, input, { sessionKey, signal: inner });
      searchMs = now() - searchStartedMs;
      return answer;
    };
    try {
      const outcome = await inTime(timed, deadlineMs, signal);
      if (outcome.timedOut) {
        const advice = adviceForTimeout(deadlineMs);
        cooldown.start(advice, cooldownMs);
        return unavailable(advice, { timedOut: true, timeoutMs: deadlineMs });
      }
      cooldown.end();
      recalls.keep(outcome.value.results.map(({ snippet, ...place }) => ({ ...place, text: snippet })));
      const toolMs = now() - startedMs;
      return searchAnswer({ setting, memory, input, ...outcome.value, searchMs, toolMs });
    } catch (error) {
      // The caller's own abort stays one; an abort from inside is a failure like any other.
      if (signal?.aborted) throw error;
      // Arguments that memory refuses say nothing about its health.
      if (MemoryError.is(error, "INVALID_ARGUMENT"))
        return badQuery(aboutField.exec(error.message)?.[0] ?? "query", error.message);
      const advice = adviceForError(error, setting);
      // A busy index is healthy, and may be free at once.
      if (!MemoryError.is(error, "BUSY")) cooldown.start(advice, cooldownMs);
      return unavailable(advice);
    }
  }
}

function ask(
  memory: Memory,
  { query, corpus, maxResults: most, maxTokens, minScore, since, until, order }: SearchInput,
  { sessionKey, signal }: { sessionKey: string | undefined; signal: AbortSignal },
): Promise<SearchAnswer> {
  const maxResults = most === undefined ? undefined : Math.min(mostResults, most);
  const sources = corpus === undefined || corpus === "all" ? undefined : sourcesOf(corpus, memory);
  return memory.ask(query, {
    maxTokens,
    minScore,
    since,
    until,
    order,
    sessionKey,
    maxResults,
    defaultMaxResults: mostResults,
    sources,
    signal,
  });
}

/** Past conversations are those of this host and of the configured other programs. */
function sourcesOf(corpus: string, memory: Memory): string[] {
  const known = memory.status().sources ?? [];
  const others = corpus === "sessions" ? known.filter(isClientSource) : [];
  return others.length === 0 || known.includes(corpus) ? [corpus, ...others] : others;
}

/** Memory would search with the begin of a long query, which a model does not notice. */
function queryProblem({ query, since, until, order = "relevance" }: SearchInput): string | undefined {
  if (query.trim() === "" && since === undefined && until === undefined && order === "relevance")
    return "query is empty";
  // As memory counts: letters outside the first plane are one each.
  const length = query.length <= queryLimit ? query.length : [...query].length;
  if (length <= queryLimit) return undefined;
  return `query has ${length.toLocaleString("en-US")} characters, and at most ${queryLimit.toLocaleString("en-US")} are searched: ask with the few words that matter`;
}

function badQuery(field: string, error: string): MemoryToolResult {
  return { results: [], ...badInput("memory_search", field, error) };
}
