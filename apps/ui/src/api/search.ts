import type { LeftOutFile, MemorySearchResult, ScoreParts, SearchReport } from "@memslot/core";

/** A line as it is shown; `text` of parts that match the question and others, in their order. */
export type ShownLine =
  | { kind: "line"; number?: number | undefined; parts: readonly { text: string; match: boolean }[] }
  | { kind: "gap" };

export interface FoundResult extends Omit<MemorySearchResult, "lines"> {
  lines: readonly ShownLine[];
}

/** `GET /api/search?q=…`, also `max`, `tokens`, `min`. */
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

/**
 * One step of a file on its way into an answer, in their order. The first that is `failed` is why it is not there;
 * those behind it were not looked at.
 */
export type WhyRung =
  | { name: "file"; state: WhyState; reason?: LeftOutFile["reason"] | "unknown"; detail?: string | undefined }
  | {
      name: "line";
      state: WhyState;
      line?: number | undefined;
      passage?: readonly [from: number, to: number] | undefined;
    }
  | { name: "words"; state: WhyState; held: readonly string[]; missing: readonly string[] }
  | { name: "filters"; state: WhyState }
  | { name: "score"; state: WhyState; score?: number | undefined; parts?: ScoreParts | undefined }
  | {
      name: "rank";
      state: WhyState;
      rank?: number | undefined;
      of: number;
      shown: number;
      cut?: "limit" | "tokens" | "minScore" | undefined;
    };

type WhyState = "passed" | "failed" | "open";

/** `GET /api/search/why?q=…&target=…`, the target being a path, `path:12` or words of a line. */
export interface WhyAnswer {
  /** The note that was looked for; absent: there is none of that name, and no line that says so. */
  path?: string | undefined;
  /** It is among the results. */
  isThere: boolean;
  rungs: readonly WhyRung[];
  /** The last result that is shown before it. */
  beatenBy?: { path: string; startLine: number; score: number; parts?: ScoreParts | undefined } | undefined;
}
