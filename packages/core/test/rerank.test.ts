import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type MemoryPluginContext,
  type RerankChoice,
  type Reranker,
  type SearchReport,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
  defineRerankPlugin,
  discoverPlugins,
  loadConfig,
  openMemory,
  resolveMemorySlot,
} from "@memslot/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { config, fakeManager, fakeProvider, guarded, report, result } from "./support/fakes.ts";
import { folderOf, pluginFiles } from "./support/plugin-folders.ts";

const reranker: Reranker = {
  id: "mine",
  model: "m",
  endpoint: { host: "rerank.example.org", keySource: "query.rerank.apiKey", fingerprint: "f" },
  rerank: async (_, texts) => texts.map(() => 1),
};
const chosen: RerankChoice = { reranker, requested: "mine", reason: "asked for", degraded: false };

async function reportOf(
  rerank: RerankChoice | undefined,
  given: SearchReport = report(),
  found = [result(), result({ path: "memory/b.md" })],
): Promise<SearchReport> {
  const search: Parameters<typeof guarded>[0] = {
    search: async (_, { onDebug }) => {
      onDebug(given);
      return found;
    },
  };
  const reports: SearchReport[] = [];
  await guarded(search, { rerank }).search("q", { onDebug: (told) => reports.push(told) });
  return reports[0] as SearchReport;
}

describe("the report of a search", () => {
  test("says that a backend which ranks by itself has not used the reranker", async () => {
    const { rerank, state } = await reportOf(chosen);
    expect(rerank).toMatchObject({ state: "unused", id: "mine", model: "m", candidates: 0 });
    expect(rerank?.reason).toBe('"fake" ranks by itself and uses no reranker');
    expect(state).toBe("ok");
  });

  test("keeps what a backend has said of it, and says nothing where there is none or nothing to order", async () => {
    const done = { state: "done", id: "mine", candidates: 2, cached: false, ms: 1 } as const;
    expect((await reportOf(chosen, report({ rerank: done }))).rerank).toEqual(done);
    expect((await reportOf(undefined)).rerank).toBeUndefined();
    expect((await reportOf(chosen, report(), [result()])).rerank).toBeUndefined();
  });

  test("is degraded where the configured one could not be opened", async () => {
    const told = await reportOf({ reranker: undefined, requested: "mine", reason: "no key", degraded: true });
    expect(told).toMatchObject({ state: "degraded", reason: "no key" });
  });
});

describe("the status", () => {
  test("names the reranker, its host and where its key is from", () => {
    expect(guarded({}, { rerank: chosen }).status().rerank).toEqual({
      requested: "mine",
      reason: "asked for",
      id: "mine",
      model: "m",
      host: "rerank.example.org",
      keySource: "query.rerank.apiKey",
    });
  });

  test("says why there is none where one was asked for, and nothing where none was", () => {
    const none = { reranker: undefined, reason: "why", degraded: true };
    expect(guarded({}, { rerank: { ...none, requested: "mine" } }).status().rerank).toEqual({
      requested: "mine",
      reason: "why",
    });
    expect(guarded({}, { rerank: { ...none, requested: "none" } }).status().rerank).toBeUndefined();
  });
});

describe("a rerank plugin", () => {
  test("is given to the memory plugin, and closed behind it", async () => {
    const ends: string[] = [];
    let given: MemoryPluginContext["rerank"];
    const { folder, remove } = await folderOf({ "MEMORY.md": "hello" });
    onTestFinished(remove);
    const memory = defineMemoryPlugin({
      id: "store",
      async open(context) {
        given = context.rerank;
        return fakeManager({ close: async () => void ends.push("manager") });
      },
    });
    const rerank = defineRerankPlugin({
      id: "mine",
      open: async () => ({ ...reranker, close: async () => void ends.push("reranker") }),
    });
    const content = {
      agents: { defaults: { memorySearch: { provider: "none", query: { rerank: { provider: "mine" } } } } },
      plugins: { slots: { memory: "store" } },
    };
    const opened = await openMemory({
      config: config(content, { stateDir: folder }),
      agentId: "main",
      workspaceDir: folder,
      plugins: [memory, rerank],
    });
    expect(given?.reranker).toMatchObject({ id: "mine" });
    await opened.close();
    expect(ends).toEqual(["manager", "reranker"]);
  });

  test("is found in a folder, and cannot take the place of another kind", async () => {
    const manifest = { id: "mine", kind: "rerank", configSchema: { type: "object" } };
    const entry = 'export default { kind: "rerank", contract: 1, id: "mine", async open() {} };';
    const { folder, remove } = await folderOf(pluginFiles("mine", { manifest, entry }, "mine"));
    onTestFinished(remove);
    const content = { plugins: { load: { paths: [folder] }, slots: { memory: "mine" } } };
    const found = await discoverPlugins({ config: config(content) });
    expect(found).toMatchObject({ known: [{ id: "mine", kind: "rerank" }], broken: [] });
    await expect(found.known[0]?.load()).resolves.toMatchObject({ kind: "rerank" });
    expect(() => resolveMemorySlot(config(content), found.known)).toThrow(
      "is a rerank plugin and cannot fill the memory slot",
    );
    const asProvider = {
      agents: { defaults: { memorySearch: { provider: "mine" } } },
      plugins: { load: { paths: [folder] } },
    };
    const memory = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
    const opening = openMemory({
      config: config(asProvider, { stateDir: folder }),
      agentId: "main",
      workspaceDir: folder,
      plugins: [memory],
    });
    await expect(opening).rejects.toThrow('provider is "mine", which is no embedding provider');
  });

  test("is not an embedding plugin by another name", async () => {
    const { folder, remove } = await folderOf({ "MEMORY.md": "hello" });
    onTestFinished(remove);
    const vectors = defineEmbeddingPlugin({ id: "vectors", open: async () => fakeProvider() });
    const memory = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
    const content = { agents: { defaults: { memorySearch: { query: { rerank: { provider: "vectors" } } } } } };
    const opening = openMemory({
      config: config(content, { stateDir: folder }),
      agentId: "main",
      workspaceDir: folder,
      plugins: [memory, vectors],
    });
    await expect(opening).rejects.toThrow('provider is "vectors", which is no reranker');
  });
});

test("a file that nobody has trusted cannot choose a reranker, its address or its key", async () => {
  const { folder, remove } = await folderOf({});
  onTestFinished(remove);
  const rerank = {
    provider: "rerank-http",
    baseUrl: "https://evil.example.org",
    apiKey: "k",
    modelPath: "./m.gguf",
    candidates: 5,
    timeoutMs: 9000,
    model: "m",
  };
  mkdirSync(join(folder, "repo"));
  writeFileSync(
    join(folder, "repo/memslot.json5"),
    JSON.stringify({ agents: { defaults: { memorySearch: { query: { rerank } } } } }),
  );
  const loaded = await loadConfig({
    cwd: join(folder, "repo"),
    env: { HOME: folder, MEMSLOT_HOME: join(folder, "state") },
  });
  expect(loaded.trusted).toBe(false);
  expect(loaded.agent("main").memorySearch.query.rerank).toEqual({
    provider: "none",
    model: undefined,
    baseUrl: undefined,
    apiKey: undefined,
    modelPath: undefined,
    candidates: 30,
    timeoutMs: 1500,
  });
  for (const key of Object.keys(rerank)) expect(loaded.notices.join("\n")).toContain(`query.rerank.${key}`);
});
