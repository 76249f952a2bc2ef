import { type MemorySearchResult, type SearchReport } from "@memslot/core";
import { withConditions } from "@memslot/core/host";
import { tempFolder } from "@memslot/test-tools/files";
import { never, searchOptions, settingsWith } from "../../../test/support/context.ts";
import type { FakeEmbeddings } from "../../../test/support/fake-embeddings.ts";
import { createFakeStore, type FakeStore } from "../../../test/support/fake-store.ts";
import type { IndexedFile } from "../../index-row-types.ts";
import { Embedder } from "../../embedding/embedder.ts";
import type { RerankStage } from "../rerank-stage.ts";
import { chunkMarkdown } from "../../text/chunk-markdown.ts";
import { splitLines } from "../../text/file-text.ts";
import { isEnding } from "../../text/word-forms.ts";
import { readQuery } from "../../text/query-terms.ts";
import { indexTerms } from "../../text/index-terms.ts";
import { searchChunks } from "../search.ts";
import type { SourceScope } from "../session-scope.ts";
import { randomFrom, randomText } from "@memslot/test-tools/random";
import { expect } from "vitest";
import type { KeywordQuery } from "../../chunk-store.ts";
import { readTimes } from "../../text/times/read-times.ts";
import tables from "./golden-notes.json" with { type: "json" };

const now = new Date(2026, 2, 15);

export const notes: Readonly<Record<string, string>> = tables.usualNotes;

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
    chunks?: number | undefined;
  } = {},
): Promise<Found> {
  const { provider, hybrid = {}, scope = () => undefined, days, rerank, chunks, ...options } = change;
  const settings = settingsWith({ hybrid });
  const embedderOf = (asked: FakeEmbeddings): Embedder => {
    const choice = { provider: asked, requested: "fake", reason: "asked for by the test", degraded: false };
    return new Embedder({
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
  const {
    results,
    report,
    conditions = [],
  } = await searchChunks({
    store,
    settings,
    vectors,
    backend: "test",
    query,
    options: searchOptions(options),
    scope,
    now,
    days: days && (async () => days),
    stats: chunks === undefined ? undefined : { ...(await store.stats()), chunks },
    rerank,
  });
  return { results, paths: results.map(({ path }) => path), report: withConditions(report, conditions) };
}

/** Whether words were only counted: which languages there are, and how else a word may be written. */
export function isCounted({ method, argument }: FakeStore["calls"][number]): boolean {
  return method === "searchKeyword" && (argument as KeywordQuery).limit === 1;
}

const operators = tables.operators;

export async function expectAnyQueryIsAnswered({ seed, queries }: { seed: number; queries: number }): Promise<void> {
  const store = await storeWith(notes);
  const random = randomFrom(seed);
  for (let round = 0; round < queries; round++) {
    const query = Array.from({ length: random.below(8) }, () =>
      random.chance(0.5) ? random.pick(operators) : randomText(random, 6),
    ).join(" ");
    store.calls.length = 0;
    const { results } = await search(store, query);
    expect(new Set(results.map(({ path, startLine }) => `${path}:${startLine}`)).size).toBe(results.length);
    for (const { score, snippet } of results) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThan(1);
      expect(snippet.length).toBeLessThanOrEqual(700);
    }
    for (const call of store.calls) {
      const { terms } = call.argument as KeywordQuery;
      expect(terms.length).toBeGreaterThan(0);
      // What is only counted are words that the question does not hold.
      if (isCounted(call)) continue;
      expect(terms.length).toBeLessThanOrEqual(64);
      // What asks for the notes of a time asks for nothing else.
      if (readTimes(query, { now }).periods.length > 0 && terms.every(({ term }) => /^\d{4}-/u.test(term))) continue;
      const { terms: read, values } = readQuery(query);
      const words = terms.flatMap(({ term }) => (isEnding(term) ? [] : [term]));
      if (values.length === 0) expect(words).toEqual(read.flatMap(({ term, forms = [] }) => [term, ...forms]));
      // What follows asks for words that are read otherwise.
      break;
    }
  }
}
