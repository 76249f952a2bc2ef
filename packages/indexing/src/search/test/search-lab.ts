import type { MemorySearchResult, SearchReport } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { never, searchOptions, settingsWith } from "../../../test/support/context.ts";
import type { FakeEmbeddings } from "../../../test/support/fake-embeddings.ts";
import { createFakeStore, type FakeStore } from "../../../test/support/fake-store.ts";
import type { IndexedFile } from "../../chunk-index.ts";
import { createEmbedder } from "../../embedding/embedder.ts";
import type { RerankStage } from "../../rerank/rerank-stage.ts";
import { chunkMarkdown } from "../../text/chunk-markdown.ts";
import { splitLines } from "../../text/file-text.ts";
import { indexTerms } from "../../text/words.ts";
import { searchChunks } from "../search.ts";
import type { SourceScope } from "../session-scope.ts";

export const now: Date = new Date(2026, 2, 15);

export const notes: Readonly<Record<string, string>> = {
  "MEMORY.md": "# Facts\n\n- The budget for 2026 is 40,000 euro.\n- Anna leads the platform team.\n",
  "memory/2026-03-05.md":
    "# 2026-03-05\n\n- Ticket QX-7919: the importer drops rows.\n- Bought a new server for the lab.\n",
  "memory/2026-03-06.md": "# 2026-03-06\n\n- The kitten slept all day.\n- Deployed the importer with node.js 24.\n",
  "memory/2025-01-10.md": "# 2025-01-10\n\n- 决定把数据库迁移到新服务器。\n- 预算已经批准。\n",
  "memory/travel.md": "# Travel\n\nThe journey to Kraków took nine hours. Żółć is a word with only Polish letters.\n",
};

const usual = { tokens: 400, overlap: 80 };

export function chunksOf(text: string, chunking: typeof usual = usual): IndexedFile["chunks"] {
  return [...chunkMarkdown(splitLines(text), chunking)].map((chunk) => ({
    ...chunk,
    terms: indexTerms(`${chunk.text}\n${chunk.context}`),
  }));
}

export async function storeWith(
  files: Readonly<Record<string, string>>,
  {
    source = "memory",
    tokens = 400,
    store = createFakeStore(),
  }: { source?: string; tokens?: number; store?: FakeStore } = {},
): Promise<FakeStore> {
  await store.replaceFiles(
    Object.entries(files).map(([path, text]): IndexedFile => {
      const chunks = chunksOf(text, { tokens, overlap: 80 });
      return { path, source, hash: text, mtimeMs: 1, size: text.length, recipe: "r", chunks };
    }),
  );
  return store;
}

export interface Found {
  results: MemorySearchResult[];
  paths: string[];
  report: SearchReport;
}

export async function search(
  store: FakeStore,
  query: string,
  change: Parameters<typeof searchOptions>[0] & {
    provider?: FakeEmbeddings;
    hybrid?: NonNullable<Parameters<typeof settingsWith>[0]>["hybrid"];
    scope?: SourceScope;
    days?: readonly number[];
    rerank?: RerankStage | undefined;
  } = {},
): Promise<Found> {
  const { provider, hybrid = {}, scope = () => undefined, days, rerank, ...options } = change;
  const settings = settingsWith({ hybrid });
  const embedderOf = (asked: FakeEmbeddings): ReturnType<typeof createEmbedder> => {
    const choice = { provider: asked, requested: "fake", reason: "asked for by the test", degraded: false };
    return createEmbedder({
      store,
      provider: asked,
      choice,
      settings,
      agentId: "main",
      stateDir: tempFolder(),
      notify: () => undefined,
    });
  };
  const vectors = provider && embedderOf(provider);
  await vectors?.embedMissing({ reason: "test", asked: true, force: false, signal: never, progress: () => undefined });
  const { results, report } = await searchChunks({
    store,
    settings,
    vectors,
    backend: "test",
    query,
    options: searchOptions(options),
    scope,
    now,
    days: days && (async () => days),
    rerank,
  });
  return { results, paths: results.map(({ path }) => path), report };
}
