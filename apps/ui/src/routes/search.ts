import { createMemoryTools } from "@memslot/agent-kit";
import { estimateTokens, type Memory, type MemorySearchOptions, mostResults } from "@memslot/core";
import { whyTarget } from "@memslot/core/host";
import { createMatcher, matchedWords, resultLines } from "@memslot/indexing";
import type { AgentAnswer, SearchAnswer, ShownLine } from "../api-types.ts";
import type { EventHub } from "../server/event-hub.ts";
import { type Asked, numberOf, RouteError, type Routes } from "../server/answer-request.ts";
import type { UiHost } from "../ui-host.ts";

/** Routes to search: for people and as an agent. */
export function searchRoutes({ memory, config }: UiHost, hub: EventHub): Routes {
  return {
    async "GET /api/search"(asked) {
      const limits = limitsOf(asked, memory.agentId);
      // While all files are checked, and for a key, the index answers as it is; pages ask again after the check.
      const fresh = limits.keywordsOnly !== true && !hub.isChecking();
      return await answerSearch(memory, asked.query["q"] ?? "", { ...limits, fresh });
    },

    async "GET /api/search/why"(asked) {
      const { q = "", target = "" } = asked.query;
      if (target.trim() === "") throw new RouteError("INVALID_ARGUMENT", "target must name a note, a line or a text");
      return (await memory.why(q, whyTarget(target), limitsOf(asked, memory.agentId))) ?? null;
    },

    async "GET /api/search/agent"({ query, signal }) {
      const tools = createMemoryTools({ memory, citations: config.citations });
      const tool = tools.find(({ name }) => name === "memory_search");
      if (tool === undefined) throw new RouteError("NOT_FOUND", "agents are offered no memory_search here");
      const answer = await tool.execute({ query: query["q"] ?? "" }, { signal });
      const text = JSON.stringify(answer, undefined, 1);
      return { text, tokens: Math.round(estimateTokens(JSON.stringify(answer))) } satisfies AgentAnswer;
    },
  };
}

function limitsOf(asked: Asked, agentId: string): SearchOptions {
  const { query, signal } = asked;
  return {
    defaultMaxResults: mostResults,
    maxResults: numberOf(asked, "max"),
    maxTokens: numberOf(asked, "tokens"),
    minScore: numberOf(asked, "min"),
    keywordsOnly: query["typing"] !== undefined,
    // As in a session with a shared audience.
    sessionKey: query["shared"] === undefined ? undefined : `agent:${agentId}:page:group:preview`,
    signal,
  };
}

type SearchOptions = MemorySearchOptions & { signal: AbortSignal };

/** Searches, and marks matching words in the lines of each result. */
export async function answerSearch(memory: Memory, query: string, options: SearchOptions): Promise<SearchAnswer> {
  const { results: found, report } = await memory.ask(query, { ...options, explain: true });
  const words = matchedWords(query, report);
  const matcher = createMatcher(words);
  const lines = await resultLines(memory, found, { query: words, context: undefined, signal: options.signal });
  const results = lines.map(({ result, lines: own }) => ({
    ...result,
    lines: own.map((line): ShownLine => {
      if (line.kind === "gap") return line;
      const { number, text } = line;
      const matches = matcher(text).ranges.map(({ start, end }) => text.slice(start, end).toLowerCase());
      return { kind: "line", number, text, matches };
    }),
  }));
  return { results, report };
}
