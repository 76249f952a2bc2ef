import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryReadResult, MemorySearchManager, MemorySearchResult } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

const noMore = "search: the lines of a result are no more than what it shows";
const ends = "search: the end of a long note, of a long line and of a list of many words is found";
const cuts = "search: minScore that a caller names cuts what holds only some of the words";
const hands = "search: results do not change in the hands of whoever asked";

/** Managers whose answers are nearly right. */
export const inexact: readonly WrongManager[] = [
  {
    fault: "names one line too many behind",
    caughtBy: noMore,
    spoil: (right) => each(right, (result) => ({ ...result, endLine: result.endLine + 1 })),
  },
  {
    fault: "names one line too many before",
    caughtBy: noMore,
    spoil: (right) => each(right, (result) => ({ ...result, startLine: Math.max(1, result.startLine - 1) })),
  },
  {
    fault: "names the whole file and shows a line",
    caughtBy: noMore,
    spoil: (right, { workspaceDir }) => ({
      search: async (query, options) =>
        Promise.all(
          (await right.search(query, options)).map(async (result) => {
            const lines = (await readFile(join(workspaceDir, result.path), "utf8")).trimEnd().split("\n");
            const [shown = ""] = lines.filter((line) => line.includes(query));
            return { ...result, startLine: 1, endLine: lines.length, snippet: shown };
          }),
        ),
    }),
  },
  {
    fault: "calls every source memory",
    caughtBy: "search: every result names the source that it is from",
    spoil: (right) => each(right, (result) => ({ ...result, source: "memory" })),
  },
  {
    fault: "calls a result by the first source that was asked for",
    caughtBy: "search: every result names the source that it is from",
    spoil: (right) => ({
      search: async (query, options) =>
        (await right.search(query, options)).map((result) => ({ ...result, source: options.sources[0] ?? "memory" })),
    }),
  },
  {
    fault: "takes no notice of minScore",
    caughtBy: cuts,
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, minScore: 0 }) }),
  },
  {
    fault: "takes every minScore for that of the configuration",
    caughtBy: cuts,
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, strict: false }) }),
  },
  {
    fault: "takes every minScore for that of the caller",
    caughtBy: cuts,
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, strict: true }) }),
  },
  {
    fault: "has 50 candidates and no more",
    caughtBy: "search: as many results as are asked for, when so many match",
    spoil: (right) => ({ search: async (query, options) => (await right.search(query, options)).slice(0, 50) }),
  },
  {
    fault: "gives a file of 8 kB and no more",
    caughtBy: ends,
    spoil: (right, { workspaceDir }) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        const heads = await Promise.all(
          results.map(async ({ path }) => (await readFile(join(workspaceDir, path), "utf8")).slice(0, 8192)),
        );
        return results.filter((_, index) => heads[index]?.includes(query));
      },
    }),
  },
  {
    fault: "indexes the first thousand words of a line",
    caughtBy: ends,
    spoil: (right) => ({
      search: async (query, options) => (query === "whinchat" ? [] : right.search(query, options)),
    }),
  },
  {
    fault: "goes on working at results that it has given",
    caughtBy: hands,
    spoil(right) {
      const given: MemorySearchResult[] = [];
      return {
        async search(query, options) {
          for (const result of given) result.snippet = "";
          const results = await right.search(query, options);
          given.push(...results);
          return results;
        },
      };
    },
  },
  {
    fault: "gives everybody the same results to keep",
    caughtBy: hands,
    spoil(right) {
      const known = new Map<string, MemorySearchResult[]>();
      return {
        async search(query, options) {
          const results = await right.search(query, options);
          const key = JSON.stringify(results);
          const kept = known.get(key) ?? results;
          known.set(key, kept);
          return kept;
        },
      };
    },
  },
  {
    fault: "reads a file once",
    caughtBy: "read: gives the file as it is, whatever its size and time say",
    spoil(right) {
      const known = new Map<string, MemoryReadResult>();
      return {
        async readFile(params) {
          const key = JSON.stringify([params.relPath, params.from, params.lines]);
          const result = known.get(key) ?? (await right.readFile(params));
          known.set(key, result);
          return result;
        },
      };
    },
  },
  {
    fault: "reads a file anew when its size or its time has changed",
    caughtBy: "read: gives the file as it is, whatever its size and time say",
    spoil(right, { workspaceDir }) {
      const known = new Map<string, MemoryReadResult>();
      return {
        async readFile(params) {
          const { size, mtimeMs } = await stat(join(workspaceDir, params.relPath)).catch(() => ({
            size: 0,
            mtimeMs: 0,
          }));
          const key = JSON.stringify([params.relPath, params.from, params.lines, size, mtimeMs]);
          const result = known.get(key) ?? (await right.readFile(params));
          known.set(key, result);
          return result;
        },
      };
    },
  },
];

function each(
  right: MemorySearchManager,
  change: (result: MemorySearchResult) => MemorySearchResult,
): Partial<MemorySearchManager> {
  return { search: async (query, options) => (await right.search(query, options)).map(change) };
}
