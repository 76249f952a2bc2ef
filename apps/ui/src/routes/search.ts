import { createMemoryTools } from "@memslot/agent-kit";
import {
  type Memory,
  type MemorySearchOptions,
  type MemorySearchResult,
  type SearchReport,
  whyTarget,
} from "@memslot/core";
import { estimateTokens } from "@memslot/indexing/host";
import type { Context, Hono } from "hono";
import type { AgentAnswer, ExamplesAnswer, FoundResult, SearchAnswer, WhyAnswer } from "../api/search.ts";
import { RouteError } from "../server/failure.ts";
import type { UiHost } from "../ui-host.ts";
import { shownLines } from "./shown-lines.ts";

const mostExamples = 4;

/** `GET /api/search` and what belongs to it: why, agent, examples. */
export function serveSearch(app: Hono, host: UiHost): void {
  const { memory } = host;

  app.get("/api/search", async (context) => {
    const query = context.req.query("q") ?? "";
    return await withOther(host, context, async (asked) => {
      let report: SearchReport | undefined;
      const onDebug = (given: SearchReport): void => void (report = given);
      const options = { ...optionsOf(context), explain: true, onDebug };
      const results = await asked.search(query, options);
      const files = asked.status().files ?? 0;
      return context.json({ results: results.map(found), report, files } satisfies SearchAnswer);
    });
  });

  app.get("/api/search/why", async (context) => {
    const target = context.req.query("target")?.trim() ?? "";
    if (target === "") throw new RouteError(400, "INVALID_ARGUMENT", "target must name a note, a line or a text");
    const why = await memory.why(context.req.query("q") ?? "", whyTarget(target), optionsOf(context));
    return context.json({ why } satisfies WhyAnswer);
  });

  app.get("/api/search/agent", async (context) => {
    const [tool] = createMemoryTools({ memory, append: false, citations: host.config.citations });
    const { signal } = context.req.raw;
    const answer = await tool?.execute({ query: context.req.query("q") ?? "" }, { signal });
    const text = JSON.stringify(answer ?? {});
    return context.json({ text, tokens: Math.ceil(estimateTokens(text)) } satisfies AgentAnswer);
  });

  app.get("/api/search/examples", async (context) => {
    // A question without a word lists notes, the newest first.
    const listed = await memory.search("path:**", { maxResults: 20, maxTokens: 4000, signal: context.req.raw.signal });
    const names = listed.map(({ path, snippet }) => titleOf(path, snippet)).filter((name) => name !== undefined);
    const examples = [...new Set(names)].slice(0, mostExamples);
    return context.json({ examples, files: memory.status().files ?? 0 } satisfies ExamplesAnswer);
  });
}

/** Asks this memory, or one that is opened with the settings that a request names and closed behind it. */
async function withOther(
  host: UiHost,
  context: Context,
  ask: (memory: Memory) => Promise<Response>,
): Promise<Response> {
  const words = numberOf(context, "words");
  const backend = context.req.query("backend") || undefined;
  if (words === undefined && backend === undefined) return await ask(host.memory);
  if (words !== undefined && !(words >= 0 && words <= 1))
    throw new RouteError(400, "INVALID_ARGUMENT", "words must be a number from 0 to 1");
  const hybrid = words === undefined ? undefined : { vectorWeight: 1 - words, textWeight: words };
  const other = await host.openWith({ hybrid, backend });
  try {
    return await ask(other);
  } finally {
    await other.close();
  }
}

function optionsOf(context: Context): MemorySearchOptions {
  return {
    maxResults: numberOf(context, "max"),
    maxTokens: numberOf(context, "tokens"),
    minScore: numberOf(context, "min"),
    signal: context.req.raw.signal,
  };
}

function numberOf(context: Context, name: string): number | undefined {
  const given = context.req.query(name);
  return given === undefined || given === "" ? undefined : Number(given);
}

function found(result: MemorySearchResult): FoundResult {
  const { snippet: _, ...rest } = result;
  return { ...rest, shown: shownLines(result), day: /\d{4}-\d{2}-\d{2}/u.exec(result.path)?.[0] };
}

/** The first heading of a note, or the name of its file. */
function titleOf(path: string, snippet: string): string | undefined {
  const heading = /^#+\s+(.+)$/mu.exec(snippet)?.[1];
  const name =
    heading ??
    path
      .split("/")
      .at(-1)
      ?.replace(/\.\w+$/u, "")
      .replaceAll(/[-_]/gu, " ");
  return name?.slice(0, 60).trim() || undefined;
}
