import type { AgentConfig, Memory, MemorySearchOptions, MemorySearchResult, MemslotConfig } from "@memslot/core";
import { Hono } from "hono";
import { expect, test } from "vitest";
import type { SearchAnswer } from "../api/search.ts";
import { failed } from "../server/failure.ts";
import type { OtherSettings, UiHost } from "../ui-host.ts";
import { serveSearch } from "./search.ts";

const passage: MemorySearchResult = {
  path: "memory/2026-03-05.md",
  startLine: 4,
  endLine: 12,
  lines: [
    [5, 6],
    [11, 11],
  ],
  score: 0.5,
  snippet: "…\nfive\nsix\n…\neleven\n…",
  source: "memory",
};

/** The routes over a memory that finds one passage, and what was asked of it. */
function served(): {
  get: (path: string) => Promise<Response>;
  asked: (MemorySearchOptions | undefined)[];
  opened: OtherSettings[];
  closed: () => number;
} {
  const asked: (MemorySearchOptions | undefined)[] = [];
  const opened: OtherSettings[] = [];
  let closed = 0;
  const memory = {
    search: async (_query: string, options?: MemorySearchOptions) => {
      asked.push(options);
      return [passage];
    },
    status: () => ({ backend: "fake", provider: "none", files: 1 }),
    close: async () => void closed++,
  } as Partial<Memory> as Memory;
  const app = new Hono();
  app.onError((error, context) => failed(context, error));
  const openWith: UiHost["openWith"] = async (other) => {
    opened.push(other);
    return memory;
  };
  const unused = { config: {} as MemslotConfig, agent: {} as AgentConfig, readOnly: false, version: "0" };
  serveSearch(app, { ...unused, memory, openWith });
  return { get: async (path) => await app.request(path), asked, opened, closed: () => closed };
}

test("a search tells the numbers of the lines that are shown, and the day", async () => {
  const { get, asked, opened } = served();
  const { results } = (await (await get("/api/search?q=x&max=3&tokens=500&min=0.2")).json()) as SearchAnswer;
  expect(results[0]).toMatchObject({ day: "2026-03-05" });
  expect(results[0]?.shown.map((line) => (line.gap ? "…" : `${line.number} ${line.text}`))).toEqual([
    "…",
    "5 five",
    "6 six",
    "…",
    "11 eleven",
    "…",
  ]);
  expect(asked[0]).toMatchObject({ explain: true, maxResults: 3, maxTokens: 500, minScore: 0.2 });
  expect(opened).toEqual([]);
});

test("other weights and another backend are asked of a memory of their own, which is closed", async () => {
  const { get, opened, closed } = served();
  expect((await get("/api/search?q=x&words=0.25&backend=memory-qmd")).status).toBe(200);
  expect(opened).toEqual([{ hybrid: { vectorWeight: 0.75, textWeight: 0.25 }, backend: "memory-qmd" }]);
  expect(closed()).toBe(1);
  expect((await get("/api/search?q=x&words=2")).status).toBe(400);
  expect(opened).toHaveLength(1);
});

test("why is not asked without a target", async () => {
  expect((await served().get("/api/search/why?q=x&target=")).status).toBe(400);
});
