import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemorySearchManager, MemorySearchResult } from "@memslot/core";
import { type WrongManager, neverAborted } from "./wrong-manager.ts";

export const searching: readonly WrongManager[] = [
  {
    fault: "counts lines from 0",
    caughtBy: "search: line numbers are 1-based and cover the line",
    spoil: (right) =>
      eachResult(right, (result) => ({
        ...result,
        startLine: Math.max(1, result.startLine - 1),
        endLine: Math.max(1, result.endLine - 1),
      })),
  },
  {
    fault: "is off by one line after a front matter",
    caughtBy: "search: line numbers hold with CRLF, a byte order mark, front matter, code and blank lines",
    spoil: (right) =>
      eachResult(right, (result) =>
        result.path.endsWith("crlf.md")
          ? { ...result, startLine: result.startLine + 3, endLine: result.endLine + 3 }
          : result,
      ),
  },
  {
    fault: "ignores the sources",
    caughtBy: "search: filters by source inside",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, sources: ["memory"] }) }),
  },
  {
    fault: "ignores maxResults and gives one",
    caughtBy: "search: results are sorted and cut to maxResults",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, maxResults: 1 }) }),
  },
  {
    fault: "shows the head of the chunk in place of the match",
    caughtBy: "search: a snippet holds the match and has at most 700 characters",
    spoil: (right, { workspaceDir }) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        return Promise.all(
          results.map(async (result) => {
            const lines = (await readFile(join(workspaceDir, result.path), "utf8")).split("\n");
            return {
              ...result,
              snippet: lines
                .slice(result.startLine - 1, result.endLine)
                .join("\n")
                .slice(0, 700),
            };
          }),
        );
      },
    }),
  },
  {
    fault: "gives snippets of any length",
    caughtBy: "search: a snippet holds the match and has at most 700 characters",
    spoil: (right) => eachResult(right, (result) => ({ ...result, snippet: `${result.snippet}${" …".repeat(400)}` })),
  },
  {
    fault: "cuts a snippet inside a character",
    caughtBy: "search: a snippet holds the match and has at most 700 characters",
    spoil: (right) => eachResult(right, (result) => ({ ...result, snippet: `${result.snippet.slice(0, 690)}\ud83d` })),
  },
  {
    fault: "drops keyword results under minScore",
    caughtBy: "search: an identifier as written is found whatever minScore is",
    spoil: (right) => ({
      search: async (query, options) =>
        (await right.search(query, options)).filter((result) => result.score >= options.minScore),
    }),
  },
  {
    fault: "weighs keyword results so that none reaches the default minScore",
    caughtBy: "search: words alone are enough under the default minScore",
    spoil: (right) => ({
      search: async (query, options) =>
        (await right.search(query, options)).filter((result) => result.score * 0.3 >= options.minScore),
    }),
  },
  {
    fault: "scores everything 1",
    caughtBy: "search: scores are from 0 to 1 and tell a better result from a worse one",
    spoil: (right) => eachResult(right, (result) => ({ ...result, score: 1 })),
  },
  {
    fault: "scores the worst highest",
    caughtBy: "search: scores are from 0 to 1 and tell a better result from a worse one",
    spoil: (right) => eachResult(right, (result) => ({ ...result, score: 1 - result.score })),
  },
  {
    fault: "throws on query operators",
    caughtBy: "search: hostile query text raises nothing",
    spoil: (right) => ({
      async search(query, options) {
        if (/["*()]/.test(query)) throw new Error(`fts5: syntax error near ${query}`);
        return right.search(query, options);
      },
    }),
  },
  {
    fault: "ignores an abort for ever",
    caughtBy: "search: aborted on its way ends, with AbortError or its answer",
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, { ...options, signal: neverAborted() });
        await new Promise<void>((done) => setImmediate(done));
        return options.signal.aborted ? new Promise(() => undefined) : results;
      },
    }),
  },
  {
    fault: "gives no search report",
    caughtBy: "search: each search gives one report, and an empty list says why",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, onDebug: () => undefined }) }),
  },
  {
    fault: "never says why nothing was found",
    caughtBy: "search: an unknown word gives an empty list and a report that says so",
    spoil: (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, onDebug: ({ reason: _reason, ...report }) => options.onDebug(report) }),
    }),
  },
  {
    fault: "gives something for every query",
    caughtBy: "search: an unknown word gives an empty list and a report that says so",
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        return results.length > 0 ? results : right.search("lighthouse", { ...options, onDebug: () => undefined });
      },
    }),
  },
  {
    fault: "shows the text of another file",
    caughtBy: "search: a snippet is made of the lines that the result names",
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        const [first] = results;
        return results.map((result, index) =>
          index === 1 && first !== undefined ? { ...result, snippet: first.snippet } : result,
        );
      },
    }),
  },
  {
    fault: "finds no Chinese",
    caughtBy: "search: Chinese text is found by two characters",
    spoil: (right) => ({
      search: async (query, options) => (/\p{Script=Han}/u.test(query) ? [] : right.search(query, options)),
    }),
  },
  {
    fault: "splits identifiers and finds every one that looks alike",
    caughtBy: "search: identifiers of many shapes are found as they are written",
    spoil: (right) => ({ search: (query, options) => right.search(query.replaceAll(/[^\p{L}]+/gu, " "), options) }),
  },
  {
    fault: "answers from an old index and says that all is well",
    caughtBy: "search: with sync.onSearch, finds a line written after the last sync or says that it is stale",
    spoil(right) {
      let first: MemorySearchResult[] | undefined;
      return { search: async (query, options) => (first ??= await right.search(query, options)) };
    },
  },
];

/** Changes each result of a search. */
function eachResult(
  right: MemorySearchManager,
  change: (result: MemorySearchResult, index: number) => MemorySearchResult,
): Partial<MemorySearchManager> {
  return { search: async (query, options) => (await right.search(query, options)).map(change) };
}
