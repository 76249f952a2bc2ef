import type { NoteLines } from "./status.ts";

/**
 * What a score is made of. `words`, `names`, `dates`, `meaning` and the `change` of the reranker add up to it. `meaning` is
 * what the passage would score by its vector alone, and 0 where the vector leg did not give it; words, names and dates share
 * the rest as they share the keyword weight.
 */
export interface ScoreParts {
  /** The words of the query in the text. */
  words: number;
  /** The name of the note, its headings, other names and tags. */
  names: number;
  /** A time that the query names. */
  dates: number;
  meaning: number;
  /** What the reranker did: the place among the candidates before and after it, and by how much that changed the score. */
  rerank?: { before: number; after: number; change: number } | undefined;
}

/** What `why` is about: a note, one of its lines (1-based), or the text of a line. */
export interface WhyTarget {
  path?: string | undefined;
  line?: number | undefined;
  text?: string | undefined;
}

/** The steps from a file to a result, in their order. */
export type WhyStep =
  | "file"
  | "indexed"
  | "passage"
  | "filters"
  | "words"
  | "meaning"
  | "candidate"
  | "score"
  | "rank"
  | "answer";

export interface WhyRung {
  step: WhyStep;
  /** `failed`: here it was left out. `unknown`: it was not come to. `note`: it lacked something and went on. */
  state: "ok" | "note" | "failed" | "unknown";
  /** A sentence without its full stop. */
  says: string;
}

/** Where one passage stands in a ranking. */
export interface WhyPlace extends NoteLines {
  /** Counted from 1. */
  rank: number;
  score: number;
  parts: ScoreParts;
}

/** Why something is or is not among the results of a search. */
export interface SearchWhy {
  found: boolean;
  rungs: readonly WhyRung[];
  /** The first rung that failed, or the place that it has. */
  sentence: string;
  /** What one can do about it: words, and the options of a search that would show it. */
  act?:
    | { says: string; maxResults?: number | undefined; maxTokens?: number | undefined; minScore?: number | undefined }
    | undefined;
  /** Its place among all candidates, and how many those are. */
  place?: WhyPlace | undefined;
  candidates?: number | undefined;
  /** The one before it. */
  beatenBy?: WhyPlace | undefined;
}
