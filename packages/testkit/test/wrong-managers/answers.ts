import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type MemorySearchManager,
  type MemorySearchResult,
  type MemoryReadResult,
  type ManagerReadParams,
  MemoryError,
} from "@memslot/core";
import { type WrongManagers, askWith, beforeCalls, changeAnswers, neverAborted } from "../wrong.ts";

export const searching: WrongManagers = {
  "lines.cover": {
    "counts lines from 0": (right) =>
      eachResult(right, (result) => ({
        ...result,
        startLine: Math.max(1, result.startLine - 1),
        endLine: Math.max(1, result.endLine - 1),
      })),
  },
  "lines.odd-files": {
    "is off by one line after a front matter": (right) =>
      eachResult(right, (result) =>
        result.path.endsWith("crlf.md")
          ? { ...result, startLine: result.startLine + 3, endLine: result.endLine + 3 }
          : result,
      ),
  },
  "search.sources": {
    "ignores the sources": (right) => askWith(right, { sources: ["memory"] }),
  },
  "search.max-results": {
    "ignores maxResults and gives one": (right) => askWith(right, { maxResults: 1 }),
  },
  "lines.snippet": {
    "shows the head of the chunk in place of the match": (right, { workspaceDir }) =>
      eachResult(right, async (result) => {
        const lines = (await readFile(join(workspaceDir, result.path), "utf8")).split("\n");
        const chunk = lines.slice(result.startLine - 1, result.endLine).join("\n");
        return { ...result, snippet: chunk.slice(0, 700) };
      }),
    "gives snippets of any length": (right) =>
      eachResult(right, (result) => ({ ...result, snippet: `${result.snippet}${" …".repeat(400)}` })),
    "cuts a snippet inside a character": (right) =>
      eachResult(right, (result) => ({ ...result, snippet: `${result.snippet.slice(0, 690)}\ud83d` })),
  },
  "words.identifier": {
    "drops keyword results under minScore": (right) =>
      changeAnswers(right, {
        search: (results, _query, { minScore }) => results.filter(({ score }) => score >= minScore),
      }),
  },
  "words.alone": {
    "weighs keyword results so that none reaches the default minScore": (right) =>
      changeAnswers(right, {
        search: (results, _query, { minScore }) => results.filter(({ score }) => score * 0.3 >= minScore),
      }),
  },
  "search.scores": {
    "scores everything 1": (right) => eachResult(right, (result) => ({ ...result, score: 1 })),
    "scores the worst highest": (right) => eachResult(right, (result) => ({ ...result, score: 1 - result.score })),
  },
  "search.hostile": {
    "throws on query operators": (right) =>
      beforeCalls(right, {
        search(query) {
          if (/["*()]/.test(query)) throw new Error(`fts5: syntax error near ${query}`);
        },
      }),
  },
  "search.abort-during": {
    "ignores an abort for ever": (right) => ({
      async search(query, options) {
        const results = await right.search(query, { ...options, signal: neverAborted() });
        await new Promise<void>((done) => setImmediate(done));
        return options.signal.aborted ? new Promise(() => undefined) : results;
      },
    }),
  },
  "search.report": {
    "gives no search report": (right) => askWith(right, { onDebug: () => undefined }),
  },
  "search.empty": {
    "never says why nothing was found": (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, onDebug: ({ reason: _reason, ...report }) => options.onDebug(report) }),
    }),
    "gives something for every query": (right) =>
      changeAnswers(right, {
        search: (results, _query, options) =>
          results.length > 0 ? results : right.search("lighthouse", { ...options, onDebug: () => undefined }),
      }),
  },
  "lines.shown": {
    "shows the text of another file": (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        const [first] = results;
        return results.map((result, index) =>
          index === 1 && first !== undefined ? { ...result, snippet: first.snippet } : result,
        );
      },
    }),
  },
  "words.chinese": {
    "finds no Chinese": (right) => ({
      search: async (query, options) => (/\p{Script=Han}/u.test(query) ? [] : right.search(query, options)),
    }),
  },
  "words.identifier-shapes": {
    "splits identifiers and finds every one that looks alike": (right) => ({
      search: (query, options) => right.search(query.replaceAll(/[^\p{L}]+/gu, " "), options),
    }),
  },
  "fresh.saved": {
    "answers from an old index and says that all is well"(right) {
      let first: MemorySearchResult[] | undefined;
      return { search: async (query, options) => (first ??= await right.search(query, options)) };
    },
  },
};

/** Changes each result of a search. */
function eachResult(
  right: MemorySearchManager,
  change: (result: MemorySearchResult) => MemorySearchResult | Promise<MemorySearchResult>,
): Partial<MemorySearchManager> {
  return changeAnswers(right, { search: (results) => Promise.all(results.map(change)) });
}

/** Answers as at the first of all calls with one key. */
function keepFirst<Answer>(known: Map<string, Answer>, key: string, answer: Answer): Answer {
  if (!known.has(key)) known.set(key, answer);
  return known.get(key) as Answer;
}

/** Managers whose answers are nearly right. */
export const inexact: WrongManagers = {
  "lines.shown": {
    "names one line too many behind": (right) =>
      eachResult(right, (result) => ({ ...result, endLine: result.endLine + 1 })),
    "names one line too many before": (right) =>
      eachResult(right, (result) => ({ ...result, startLine: Math.max(1, result.startLine - 1) })),
    "names the whole file and shows a line": (right, { workspaceDir }) => ({
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
  "search.names-source": {
    "calls every source memory": (right) => eachResult(right, (result) => ({ ...result, source: "memory" })),
    "calls a result by the first source that was asked for": (right) =>
      changeAnswers(right, {
        search: (results, _query, { sources: [source = "memory"] }) => results.map((result) => ({ ...result, source })),
      }),
  },
  "words.strict": {
    "takes no notice of minScore": (right) => askWith(right, { minScore: 0 }),
    "takes every minScore for that of the configuration": (right) => askWith(right, { strict: false }),
    "takes every minScore for that of the caller": (right) => askWith(right, { strict: true }),
  },
  "search.many-results": {
    "has 50 candidates and no more": (right) => changeAnswers(right, { search: (results) => results.slice(0, 50) }),
  },
  "words.long-texts": {
    "gives a file of 8 kB and no more": (right, { workspaceDir }) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        const heads = await Promise.all(
          results.map(async ({ path }) => (await readFile(join(workspaceDir, path), "utf8")).slice(0, 8192)),
        );
        return results.filter((_, index) => heads[index]?.includes(query));
      },
    }),
    "indexes the first thousand words of a line": (right) => ({
      search: async (query, options) => (query === "whinchat" ? [] : right.search(query, options)),
    }),
  },
  "search.own-results": {
    "goes on working at results that it has given"(right) {
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
    "gives everybody the same results to keep"(right) {
      const known = new Map<string, MemorySearchResult[]>();
      return changeAnswers(right, { search: (results) => keepFirst(known, JSON.stringify(results), results) });
    },
  },
  "read.current": {
    "reads a file once"(right) {
      const known = new Map<string, MemoryReadResult>();
      return changeAnswers(right, {
        readFile: (result, { relPath, from, lines }) =>
          keepFirst(known, JSON.stringify([relPath, from, lines]), result),
      });
    },
    "reads a file anew when its size or its time has changed"(right, { workspaceDir }) {
      const known = new Map<string, MemoryReadResult>();
      return changeAnswers(right, {
        async readFile(result, { relPath, from, lines }) {
          const { size = 0, mtimeMs = 0 } = (await stat(join(workspaceDir, relPath)).catch(() => undefined)) ?? {};
          return keepFirst(known, JSON.stringify([relPath, from, lines, size, mtimeMs]), result);
        },
      });
    },
  },
};

export const reading: WrongManagers = {
  "read.refused": {
    "reads outside the workspace": (right, { workspaceDir }) => ({
      readFile: (params) => readAnything(right, workspaceDir, params),
    }),
    "reads any file of the workspace": (right, { workspaceDir }) => ({
      readFile: (params) =>
        resolve(workspaceDir, params.relPath).startsWith(workspaceDir)
          ? readAnything(right, workspaceDir, params)
          : right.readFile(params),
    }),
  },
  "read.missing": {
    "throws for a missing file": (right) =>
      changeAnswers(right, {
        readFile(result) {
          if (result.status === "not_found") throw new MemoryError("WORKSPACE", "no such file");
          return result;
        },
      }),
  },
  "read.next-from": {
    "goes on one line too late": (right) =>
      changeAnswers(right, {
        readFile: ({ nextFrom, ...result }) => ({
          ...result,
          ...(nextFrom !== undefined && { nextFrom: nextFrom + 1 }),
        }),
      }),
  },
  "read.window": {
    "never says that more remains": (right) =>
      changeAnswers(right, { readFile: ({ nextFrom: _nextFrom, ...result }) => result }),
  },
};

async function readAnything(
  right: MemorySearchManager,
  workspaceDir: string,
  params: ManagerReadParams,
): ReturnType<MemorySearchManager["readFile"]> {
  try {
    return await right.readFile(params);
  } catch (error) {
    if (!MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
    const text = await readFile(resolve(workspaceDir, params.relPath), "utf8").catch(() => undefined);
    if (text === undefined) throw error;
    return { status: "ok", text, path: params.relPath, from: 1, lines: text.split("\n").length };
  }
}
