import { createMemoryTools } from "@memslot/agent-kit";
import { type MemorySearchOptions, estimateTokens, mostResults } from "@memslot/core";
import { whyTarget } from "@memslot/core/host";
import type { AgentAnswer, WhyAnswer } from "../api-types.ts";
import { answerSearch } from "../search/answer-search.ts";
import type { EventHub } from "../server/event-hub.ts";
import { RouteError } from "../server/http-answers.ts";
import type { Asked, Routes } from "../server/request-listener.ts";
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
      if (target.trim() === "")
        throw new RouteError(400, "INVALID_ARGUMENT", "target must name a note, a line or a text");
      const why = await memory.why(q, whyTarget(target), limitsOf(asked, memory.agentId));
      return { why } satisfies WhyAnswer;
    },

    async "GET /api/search/agent"({ query, signal }) {
      const tools = createMemoryTools({ memory, citations: config.citations });
      const tool = tools.find(({ name }) => name === "memory_search");
      if (tool === undefined) throw new RouteError(404, "NOT_FOUND", "agents are offered no memory_search here");
      const answer = await tool.execute({ query: query["q"] ?? "" }, { signal });
      const text = JSON.stringify(answer, undefined, 1);
      return { text, tokens: Math.round(estimateTokens(JSON.stringify(answer))) } satisfies AgentAnswer;
    },
  };
}

function limitsOf({ query, signal }: Asked, agentId: string): MemorySearchOptions & { signal: AbortSignal } {
  return {
    defaultMaxResults: mostResults,
    maxResults: numberIn(query["max"]),
    maxTokens: numberIn(query["tokens"]),
    minScore: numberIn(query["min"]),
    keywordsOnly: query["typing"] !== undefined,
    // As in a session with a shared audience.
    sessionKey: query["shared"] === undefined ? undefined : `agent:${agentId}:page:group:preview`,
    signal,
  };
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === "" ? undefined : Number(text);
}
