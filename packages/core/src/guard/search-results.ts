import type { SearchOrder } from "../contract/report.ts";
import { isForEveryone } from "./private-notes.ts";
import { type NotePlaces, isInSharedPlace, notePath, withShortSnippet } from "./result-places.ts";
import type { ManagerSearchOptions, MemorySearchResult } from "../contract/search.ts";
import type { MemoryCapabilities } from "../contract/manager.ts";
import { resultTokens } from "../text/result-tokens.ts";

/** What is left of a manager's results, and how many were dropped for which reason. */
export interface KeptResults {
  results: MemorySearchResult[];
  dropped: Record<"minScore" | "source" | "limit" | "tokens" | "audience" | "outside" | "duplicate", number>;
}

/**
 * Filters by place, audience, source and score, sorts (but for what is in an order of days), takes each place once and cuts: the same for every manager. What
 * is found outside the notes, or twice, is the plugin's mistake, and the rest is an answer all the same.
 */
export function keepResults(
  results: readonly MemorySearchResult[],
  options: Pick<ManagerSearchOptions, "maxResults" | "maxTokens" | "minScore" | "sources" | "audience" | "explain">,
  { capabilities, places, order }: { capabilities: MemoryCapabilities; places: NotePlaces; order: SearchOrder },
): KeptResults {
  const inside = results.flatMap((result) => placed(result, places));
  const allowed =
    options.audience === "private"
      ? inside
      : inside.filter(
          ({ path, source }) =>
            isForEveryone(path, places.workspaceDir) && (source !== "memory" || isInSharedPlace(path, places)),
        );
  const fromSources = allowed.filter((result) => options.sources.includes(result.source));
  const scored = fromSources.filter(
    (result) => result.score >= options.minScore || !foundByVectorOnly(result, capabilities),
  );
  const sorted = order === "relevance" ? scored.toSorted(bestFirst) : scored;
  // Of those that name the same lines the first counts.
  const unique = [...Map.groupBy(sorted, placeKey).values()].flatMap((same) => same.slice(0, 1));
  const wanted = unique.slice(0, options.maxResults);
  const kept = withinBudget(wanted, options.maxTokens);
  return {
    results: options.explain === true ? kept : kept.map(withoutParts),
    dropped: {
      outside: results.length - inside.length,
      duplicate: sorted.length - unique.length,
      audience: inside.length - allowed.length,
      source: allowed.length - fromSources.length,
      minScore: fromSources.length - scored.length,
      limit: unique.length - wanted.length,
      tokens: wanted.length - kept.length,
    },
  };
}

function withoutParts(result: MemorySearchResult): MemorySearchResult {
  const { parts: _, ...others } = result;
  return others;
}

/** With its path and its text as the contract has them. Other sources than the notes name things in their own way. */
function placed(result: MemorySearchResult, places: NotePlaces): MemorySearchResult[] {
  const path = result.source === "memory" ? notePath(result.path, places) : result.path;
  return path === undefined ? [] : [withShortSnippet(path === result.path ? result : { ...result, path })];
}

function placeKey({ source, path, startLine, endLine }: MemorySearchResult): string {
  return JSON.stringify([source, path, startLine, endLine]);
}

/** The first of them that the budget holds. The very first is always there: none would say that nothing was found. */
function withinBudget(results: readonly MemorySearchResult[], maxTokens: number): MemorySearchResult[] {
  let used = 0;
  const end = results.findIndex((result, index) => {
    used += resultTokens(result);
    return index > 0 && used > maxTokens;
  });
  return results.slice(0, end < 0 ? results.length : end);
}

/** A manager without a vector leg may give a score alone; its results are found by words. */
function foundByVectorOnly(result: MemorySearchResult, capabilities: MemoryCapabilities): boolean {
  if ((result.textScore ?? 0) > 0) return false;
  return capabilities.vector || result.vectorScore !== undefined;
}

function bestFirst(a: MemorySearchResult, b: MemorySearchResult): number {
  if (a.score !== b.score) return b.score - a.score;
  // By code unit, not by locale: the order is the same on every machine.
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.startLine - b.startLine;
}
