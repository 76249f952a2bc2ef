import type { MemorySearchResult, SearchReport } from "@memslot/core";
import type { QmdOptions } from "./options.ts";

/** Cuts an answer to `memory.qmd.limits`: fewer results, shorter snippets, and no more text than may be injected. */
export function withinLimits(
  results: readonly MemorySearchResult[],
  report: SearchReport,
  { maxSnippetChars, maxInjectedChars }: QmdOptions["limits"],
): { results: MemorySearchResult[]; report: SearchReport } {
  const cut = results.map((result) => ({ ...result, snippet: shortened(result.snippet, maxSnippetChars) }));
  let characters = 0;
  const kept = cut.filter(({ snippet }, index) => {
    characters += snippet.length;
    // The best one is always given.
    return index === 0 || maxInjectedChars === undefined || characters <= maxInjectedChars;
  });
  const left = cut.length - kept.length;
  if (left === 0) return { results: cut, report };
  const { keyword } = report.legs;
  return {
    results: kept,
    report: {
      ...report,
      dropped: { ...report.dropped, limit: report.dropped.limit + left },
      legs: {
        ...report.legs,
        ...(keyword && {
          keyword: { ...keyword, kept: kept.filter(({ textScore }) => textScore !== undefined).length },
        }),
      },
    },
  };
}

/** The lines of a snippet that fit, at least a part of the first. */
function shortened(snippet: string, limit: number | undefined): string {
  if (limit === undefined || snippet.length <= limit) return snippet;
  const end = snippet.lastIndexOf("\n", limit - 2);
  if (end > 0) return `${snippet.slice(0, end)}\n…`;
  return `${snippet
    .slice(0, limit - 1)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}
