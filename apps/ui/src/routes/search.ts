import { createMemoryTools } from "@memslot/agent-kit";
import { type MemorySearchOptions, estimateTokens, mostResults } from "@memslot/core";
import { whyTarget } from "@memslot/core/host";
import type { Context, Hono } from "hono";
import type { AgentAnswer, WhyAnswer } from "../api-types.ts";
import { answerSearch } from "../search/answer-search.ts";
import type { EventHub } from "../server/event-hub.ts";
import { RouteError } from "../server/request-checks.ts";
import type { UiHost } from "../ui-host.ts";

/** Routes to search: for people and as an agent. */
export function serveSearch(app: Hono, host: UiHost, hub: EventHub): void {
  const { memory, config } = host;

  app.get("/api/search", async (context) => {
    const limits = limitsOf(context, memory.agentId);
    // While all files are checked, and for a key, the index answers as it is; pages ask again after the check.
    const fresh = limits.keywordsOnly !== true && !hub.isChecking();
    const options = { ...limits, fresh, signal: context.req.raw.signal };
    return context.json(await answerSearch(memory, context.req.query("q") ?? "", options));
  });

  app.get("/api/search/why", async (context) => {
    const { q = "", target = "" } = context.req.query();
    if (target.trim() === "")
      throw new RouteError(400, "INVALID_ARGUMENT", "target must name a note, a line or a text");
    const options = { ...limitsOf(context, memory.agentId), signal: context.req.raw.signal };
    return context.json({ why: await memory.why(q, whyTarget(target), options) } satisfies WhyAnswer);
  });

  app.get("/api/search/agent", async (context) => {
    const tool = createMemoryTools({ memory, citations: config.citations }).find(
      ({ name }) => name === "memory_search",
    );
    if (tool === undefined) throw new RouteError(404, "NOT_FOUND", "agents are offered no memory_search here");
    const answer = await tool.execute({ query: context.req.query("q") ?? "" }, { signal: context.req.raw.signal });
    const text = JSON.stringify(answer, undefined, 1);
    return context.json({ text, tokens: Math.round(estimateTokens(JSON.stringify(answer))) } satisfies AgentAnswer);
  });
}

function limitsOf(context: Context, agentId: string): MemorySearchOptions {
  return {
    defaultMaxResults: mostResults,
    maxResults: numberIn(context.req.query("max")),
    maxTokens: numberIn(context.req.query("tokens")),
    minScore: numberIn(context.req.query("min")),
    keywordsOnly: context.req.query("typing") !== undefined,
    // As in a session with a shared audience.
    sessionKey: context.req.query("shared") === undefined ? undefined : `agent:${agentId}:page:group:preview`,
  };
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === "" ? undefined : Number(text);
}
