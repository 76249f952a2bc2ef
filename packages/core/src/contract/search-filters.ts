import type { MemorySource } from "./status.ts";

/** `newest` and `oldest`: by the days that the found lines are of; `relevance`: the best match first. */
export type SearchOrder = "relevance" | "newest" | "oldest";

/**
 * How a question was read, where it is more than words, and what was left out by it. Days are `YYYY-MM-DD` where the
 * process is, both included.
 */
export interface SearchFilters {
  /** What is left of the question to look for. */
  words: string;
  /** Each result holds each of them: their words, one behind the other. */
  phrases?: readonly string[] | undefined;
  /** Words and phrases that no result holds. */
  excluded?: readonly string[] | undefined;
  /** Beginnings of paths, or patterns. A result lies at one of them, and at none of `excludedPaths`. */
  paths?: readonly string[] | undefined;
  excludedPaths?: readonly string[] | undefined;
  /** A result is of a note with each of them, or with one below it, and with none of `excludedTags`. */
  tags?: readonly string[] | undefined;
  excludedTags?: readonly string[] | undefined;
  sources?: readonly MemorySource[] | undefined;
  since?: string | undefined;
  until?: string | undefined;
  order: SearchOrder;
  /** Notes that fit otherwise and were left out as no day of theirs is known. */
  undated?: number | undefined;
  /** What looks like a filter and was taken for words, with the reason. */
  unread?: readonly string[] | undefined;
}
