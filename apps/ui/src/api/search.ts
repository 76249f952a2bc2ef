import type { MemorySearchResult, SearchReport, SearchWhy } from "@memslot/core";

/** A line as it is shown; `text` of parts that match the question and others, in their order. */
export type ShownLine =
  | { kind: "line"; number?: number | undefined; parts: readonly { text: string; match: boolean }[] }
  | { kind: "gap" };

export interface FoundResult extends Omit<MemorySearchResult, "lines"> {
  lines: readonly ShownLine[];
}

/** `GET /api/search?q=…`, also `max`, `tokens`, `min`, and `typing` for a question that is half typed: by keywords alone. */
export interface SearchAnswer {
  query: string;
  results: readonly FoundResult[];
  report: SearchReport;
  /** Milliseconds from the question to the results, without their way here. */
  ms: number;
}

/** `GET /api/search/agent?q=…`: what the tool `memory_search` answers. */
export interface AgentAnswer {
  text: string;
  /** Estimated. */
  tokens: number;
}

/** One side of a comparison: what is left out is as it is set. */
export interface SideSettings {
  /** 0 to 1: what meaning has of the score, the rest being that of words. */
  vectorWeight?: number | undefined;
  backend?: string | undefined;
  minScore?: number | undefined;
  maxTokens?: number | undefined;
  maxResults?: number | undefined;
}

/** `POST /api/search/compare` with `{ q, a, b }` */
export interface CompareAnswer {
  a: SearchAnswer | { error: string };
  b: SearchAnswer | { error: string };
}

/** `GET /api/search/why?q=…&target=…`, the target being a path, `path:12` or words of a line. */
export interface WhyAnswer {
  /** Absent: the backend cannot tell. */
  why?: SearchWhy | undefined;
}
