import type { MemorySearchResult, SearchReport, SearchWhy } from "@memslot/core";

/** One line of a result; without a number where its source has none. `gap`: lines were left out here. */
export type ShownLine = { gap: true } | { gap: false; number: number | undefined; text: string };

export interface FoundResult extends Omit<MemorySearchResult, "snippet"> {
  shown: readonly ShownLine[];
  /** The day of its note, by its name: `2026-03-05`. */
  day: string | undefined;
}

/** `GET /api/search`: `q`, `max`, `tokens`, `min`, and to compare `words` (0 to 1), `backend`. */
export interface SearchAnswer {
  results: readonly FoundResult[];
  report: SearchReport | undefined;
  /** Files that are indexed. */
  files: number;
}

/** `GET /api/search/why`: `target` besides. `why` is absent where the backend cannot tell. */
export interface WhyAnswer {
  why?: SearchWhy | undefined;
}

/** `GET /api/search/agent`: what the memory_search tool answers. */
export interface AgentAnswer {
  text: string;
  tokens: number;
}

/** `GET /api/search/examples`: questions made of names of notes. */
export interface ExamplesAnswer {
  examples: readonly string[];
  files: number;
}
