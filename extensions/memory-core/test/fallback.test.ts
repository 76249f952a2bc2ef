import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type EmbeddingProvider,
  type Memory,
  type MemoryPlugin,
  MemoryError,
  type SearchReport,
  defineMemoryPlugin,
  openMemory,
  parseConfig,
} from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { deterministicEmbeddings } from "@memslot/testkit";
import { createWorkspace, type Workspace } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import data from "./data/fallback.json" with { type: "json" };

let place: Workspace;

beforeEach(() => {
  place = createWorkspace({ "MEMORY.md": "Anna likes espresso.\n" });
});

/** A backend that works until a test stops it. */
function tool(state: { works: boolean }): MemoryPlugin {
  const when = async <T>(value: T): Promise<T> => {
    if (state.works) return value;
    throw new MemoryError("UNAVAILABLE", "the tool is away");
  };
  const found = { path: "MEMORY.md", startLine: 1, endLine: 1, score: 1, textScore: 1, snippet: "", source: "memory" };
  return defineMemoryPlugin({
    id: "tool",
    open: async () => ({
      capabilities: { keyword: true, vector: false, ownsIndex: true },
      search: async (query) => when([{ ...found, snippet: `the tool: ${query}` }]),
      readFile: async ({ relPath }) => when({ status: "ok", text: "", path: relPath }),
      status: () => ({ backend: "tool", provider: "none" }),
      sync: async () => when({ added: 1, changed: 0, removed: 0, unchanged: 0, failed: [] }),
      probeEmbeddingAvailability: async () => when({ ok: false }),
      probeVectorAvailability: async () => when(false),
    }),
  });
}

async function open(
  fallback: string,
  state: { works: boolean },
  own: { embeddings?: EmbeddingProvider | undefined; onSearch?: boolean } = {},
): Promise<Memory> {
  const sync = { watch: false, ...(own.onSearch !== undefined && { onSearch: own.onSearch }) };
  const memory = await openMemory({
    config: parseConfig(
      {
        agents: { defaults: { workspace: place.workspaceDir, memorySearch: { provider: "none", sync } } },
        plugins: { slots: { memory: "tool" }, entries: { tool: { fallback } } },
      },
      { stateDir: place.stateDir },
    ),
    agentId: "main",
    plugins: [tool(state), memoryCore],
    notify: () => {},
    embeddings: own.embeddings,
  });
  onTestFinished(() => memory.close());
  return memory;
}

async function ask(memory: Memory, query: string): Promise<{ snippets: string[]; report: SearchReport | undefined }> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { minScore: 0, onDebug: (given) => (report = given) });
  return { snippets: results.map(({ snippet }) => snippet), report };
}

const indexFile = (): string => join(place.stateDir, "memory", "main.sqlite");

describe("memory-core as the spare", () => {
  test("makes no file on disk before it is needed", async () => {
    const state = { works: true };
    const memory = await open("builtin", state);
    await memory.sync();
    expect((await ask(memory, "espresso")).snippets).toEqual(["the tool: espresso"]);
    expect(existsSync(indexFile())).toBe(false);
    state.works = false;
    await ask(memory, "espresso");
    expect(existsSync(indexFile())).toBe(true);
  });

  test.each([true, false])(
    "answers from the files as they are with its first search, and with each later one (onSearch: %s)",
    async (onSearch) => {
      const state = { works: false };
      const memory = await open("builtin", state, { onSearch });
      const first = await ask(memory, "espresso");
      expect(first.snippets.join()).toContain("Anna likes espresso");
      expect(first.report).toMatchObject({ backend: "memory-core", state: "degraded", fallback: { from: "tool" } });
      place.write({ "memory/2026-01-02.md": "The cat is called Minka.\n" });
      expect((await ask(memory, "Minka")).snippets.join()).toContain("Minka");
    },
  );

  test("by keyword makes no embedding request, whatever is asked of it; builtin does", async () => {
    for (const [fallback, embeds] of data.fallbacks as [string, boolean][]) {
      const embeddings = deterministicEmbeddings();
      const memory = await open(fallback, { works: false }, { embeddings });
      expect((await ask(memory, "espresso")).snippets.join()).toContain("espresso");
      await memory.sync({ force: true });
      await memory.probeEmbeddingAvailability();
      await memory.check({ fix: true });
      expect((await ask(memory, "what does Anna drink?")).report?.mode).toBe(embeds ? "hybrid" : "keyword");
      const { queries, batches } = embeddings.calls();
      expect([queries > 0, batches > 0]).toEqual([embeds, embeds]);
      if (!embeds) expect(memory.status()).toMatchObject(data.wordsOnly);
      await memory.close();
      await rm(place.stateDir, { recursive: true, force: true });
    }
  });

  test("keeps the vectors that it has made before, when it is opened by keyword", async () => {
    const first = deterministicEmbeddings();
    const builtin = await open("builtin", { works: false }, { embeddings: first });
    await builtin.sync();
    await builtin.close();
    const keyword = await open("keyword", { works: false });
    await keyword.sync();
    await keyword.close();
    const second = deterministicEmbeddings();
    const again = await open("builtin", { works: false }, { embeddings: second });
    await again.sync();
    expect(first.calls().texts).toBeGreaterThan(0);
    expect(second.calls().texts).toBe(0);
  });
});
