import { createMemoryTools } from "@memslot/agent-kit";
import { type Memory, type MemorySearchOptions, estimateTokens, messageOf, mostResults } from "@memslot/core";
import { whyTarget } from "@memslot/core/host";
import type { Context, Hono } from "hono";
import type { AgentAnswer, CompareAnswer, SearchAnswer, SideSettings, WhyAnswer } from "../api-types.ts";
import { answerSearch } from "../search/answer-search.ts";
import type { EventHub } from "../server/event-hub.ts";
import { RouteError, bodyOf, textOf } from "../server/request-checks.ts";
import type { UiHost } from "../ui-host.ts";

/** Routes to search: for people, as an agent, and with two settings side by side. */
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

  app.post("/api/search/compare", async (context) => {
    const body = await bodyOf(context);
    const query = textOf(body, "q");
    const ask = async (name: "a" | "b"): Promise<SearchAnswer | { error: string }> => {
      try {
        return await askSide(host, query, sideOf(body[name]), context.req.raw.signal);
      } catch (error) {
        return { error: messageOf(error) };
      }
    };
    const [a, b] = [await ask("a"), await ask("b")];
    return context.json({ a, b } satisfies CompareAnswer);
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

async function askSide(host: UiHost, query: string, side: SideSettings, signal: AbortSignal): Promise<SearchAnswer> {
  const { vectorWeight, backend, minScore, maxTokens, maxResults } = side;
  const options = { defaultMaxResults: mostResults, maxResults, maxTokens, minScore, signal };
  if (vectorWeight === undefined && backend === undefined) return await answerSearch(host.memory, query, options);
  const hybrid = vectorWeight === undefined ? undefined : { vectorWeight, textWeight: 1 - vectorWeight };
  let other: Memory | undefined;
  try {
    other = await host.openWith({ hybrid, backend });
    return await answerSearch(other, query, options);
  } finally {
    await other?.close();
  }
}

function sideOf(given: unknown): SideSettings {
  const side = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
  const number = (name: string): number | undefined => {
    const value = side[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "number") throw new RouteError(400, "INVALID_ARGUMENT", `${name} must be a number`);
    return value;
  };
  const backend = side["backend"];
  if (backend !== undefined && typeof backend !== "string")
    throw new RouteError(400, "INVALID_ARGUMENT", "backend must be the id of a memory plugin");
  const vectorWeight = number("vectorWeight");
  if (vectorWeight !== undefined && !(vectorWeight >= 0 && vectorWeight <= 1))
    throw new RouteError(400, "INVALID_ARGUMENT", "vectorWeight must be from 0 to 1");
  return {
    vectorWeight,
    backend,
    minScore: number("minScore"),
    maxTokens: number("maxTokens"),
    maxResults: number("maxResults"),
  };
}
