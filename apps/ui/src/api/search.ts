import type { MemorySearchResult, SearchReport, SearchWhy } from "@memslot/core";

/** A displayed line; `text`: its matching and other parts, in order. */
export type ShownLine =
  | { kind: "line"; number?: number | undefined; parts: readonly { text: string; match: boolean }[] }
  | { kind: "gap" };

export interface FoundResult extends Omit<MemorySearchResult, "lines"> {
  lines: readonly ShownLine[];
}

/** `GET /api/search?q=…`, also `max`, `tokens`, `min`, and `typing` for an unfinished query (keywords only). */
export interface SearchAnswer {
  query: string;
  results: readonly FoundResult[];
  report: SearchReport;
  /** Milliseconds on the server. */
  ms: number;
}

export interface AgentAnswer {
  text: string;
  tokens: number;
}

/** One side of a comparison; omitted settings are those of the configuration. */
export interface SideSettings {
  /** 0 to 1: semantic weight; the rest is that of words. */
  vectorWeight?: number | undefined;
  backend?: string | undefined;
  minScore?: number | undefined;
  maxTokens?: number | undefined;
  maxResults?: number | undefined;
}

export interface CompareAnswer {
  a: SearchAnswer | { error: string };
  b: SearchAnswer | { error: string };
}

/** `GET /api/search/why?q=…&target=…`; target: a path, `path:12` or words of a line. */
export interface WhyAnswer {
  why?: SearchWhy | undefined;
}
