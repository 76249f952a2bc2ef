import type { Memory, MemorySearchResult, SearchReport } from "@memslot/core";

export interface FakeNotes {
  files: Record<string, string>;
  results: Pick<MemorySearchResult, "path" | "startLine" | "endLine">[];
  report?: Partial<SearchReport>;
  vectorScore?: number;
  source?: string;
  /** Lines that one read gives at most. */
  window?: number;
}

/** A memory over texts that finds what it is told to find. */
export function fakeNotes(notes: FakeNotes): Memory {
  return {
    agentId: "main",
    workspaceDir: "/nowhere",
    ownerAllowFrom: [],
    search: async (_query, options = {}) => {
      options.signal?.throwIfAborted();
      options.onDebug?.({
        backend: "fake",
        mode: "keyword",
        state: "ok",
        legs: {},
        dropped: { minScore: 0, source: 0, limit: 0 },
        ...notes.report,
      });
      return notes.results.map((result) => ({
        ...result,
        score: 0.5,
        vectorScore: notes.vectorScore,
        snippet: "",
        source: notes.source ?? "memory",
      }));
    },
    readFile: async ({ relPath, from = 1, lines = 120 }) => {
      const all = (notes.files[relPath] ?? "").split("\n");
      const count = Math.min(lines, notes.window ?? lines);
      const part = all.slice(from - 1, from - 1 + count);
      const more = from - 1 + part.length < all.length;
      return {
        status: "ok",
        path: relPath,
        text: more
          ? `${part.join("\n")}\n[More content available. Use from=${from + part.length} to continue.]`
          : part.join("\n"),
        from,
        lines: part.length,
        ...(more && { nextFrom: from + part.length }),
      };
    },
    status: () => ({ backend: "fake", provider: "none" }),
    sync: async () => undefined,
    survey: async () => undefined,
    listFiles: async () => undefined,
    describeFile: async () => undefined,
    why: async () => undefined,
    estimate: async () => undefined,
    check: async () => undefined,
    compact: async () => undefined,
    details: async () => undefined,
    map: async () => undefined,
    near: async () => undefined,
    releaseQuarantine: async () => undefined,
    probeEmbeddingAvailability: async () => ({ ok: false }),
    probeVectorAvailability: async () => false,
    close: async () => undefined,
  };
}
