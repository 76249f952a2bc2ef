import { expect } from "vitest";
import type {
  Memory,
  MemoryProviderStatus,
  MemoryReadParams,
  MemoryReadResult,
  MemorySearchOptions,
  MemorySearchResult,
  MemorySyncParams,
  SearchReport,
} from "@memslot/core";
import tables from "../data/fake-memory.json" with { type: "json" };

export interface FakeMemory extends Memory {
  readonly searches: { query: string; options: MemorySearchOptions }[];
  readonly reads: MemoryReadParams[];
  readonly syncs: MemorySyncParams[];
}

export interface FakeBehaviour {
  search?: (query: string, options: MemorySearchOptions) => Promise<MemorySearchResult[]>;
  report?: Partial<SearchReport>;
  readFile?: (params: MemoryReadParams) => Promise<MemoryReadResult>;
  status?: Partial<MemoryProviderStatus>;
  sync?: (params: MemorySyncParams) => Promise<undefined>;
  workspaceDir?: string;
}

export const harbour: MemorySearchResult = tables.harbour;

/** A memory with given answers that keeps its calls. It has only the calls that the agent kit makes. */
export function fakeMemory(behaviour: FakeBehaviour = {}): FakeMemory {
  const searches: FakeMemory["searches"] = [];
  const reads: MemoryReadParams[] = [];
  const syncs: MemorySyncParams[] = [];
  const memory: Partial<FakeMemory> = {
    agentId: "main",
    ownerAllowFrom: ["telegram:7"],
    workspaceDir: behaviour.workspaceDir ?? "/nowhere",
    searches,
    reads,
    syncs,
    ask: async (query, options = {}) => {
      searches.push({ query, options });
      const results = behaviour.search === undefined ? [harbour] : await behaviour.search(query, options);
      const report: SearchReport = {
        backend: "fake",
        mode: "keyword",
        state: "ok",
        legs: { keyword: { candidates: 4, kept: results.length } },
        dropped: { minScore: 0, source: 0, limit: 3 },
        confidence: results.length > 0 ? 0.7 : undefined,
        ...behaviour.report,
      };
      return { results, report };
    },
    readFile: async (params) => {
      reads.push(params);
      if (behaviour.readFile !== undefined) return behaviour.readFile(params);
      return {
        status: "ok",
        path: params.path ?? params.relPath,
        text: "- The harbour code is HX-19.",
        from: params.from ?? 1,
        lines: 1,
      };
    },
    status: () => ({
      backend: "fake",
      provider: "none",
      sources: ["memory"],
      custom: { searchMode: "keyword" },
      ...behaviour.status,
    }),
    sync: async (params = {}) => {
      syncs.push(params);
      return behaviour.sync?.(params);
    },
  };
  return memory as FakeMemory;
}

/** What a data file expects: a text `/words/i` there is a pattern. */
export function withPatterns(expected: object): object {
  return JSON.parse(JSON.stringify(expected), (_key, value: unknown) => {
    const [, words, flags] = (typeof value === "string" && /^\/(.+)\/(\w*)$/s.exec(value)) || [];
    return words === undefined ? value : (expect.stringMatching(new RegExp(words, flags)) as unknown);
  }) as object;
}
