import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type ManagerReadParams,
  type ManagerSearchOptions,
  type MemoryPlugin,
  type MemoryPluginContext,
  type MemorySearchManager,
  type MemorySearchResult,
  MemoryError,
} from "@memslot/core";
import { createReferencePlugin } from "@memslot/testkit";

/** A manager that keeps its contract but for one fault, and the check that has to notice. */
export interface WrongManager {
  fault: string;
  caughtBy: string;
  /** What differs from the right manager. */
  spoil(right: MemorySearchManager, context: MemoryPluginContext): Partial<MemorySearchManager>;
}

export function pluginOf({ spoil }: WrongManager): MemoryPlugin {
  const reference = createReferencePlugin();
  return {
    ...reference,
    async open(context) {
      const right = await reference.open(context);
      return { ...right, ...spoil(right, context) };
    },
  };
}

/** Changes each result of a search. */
function eachResult(right: MemorySearchManager, change: (result: MemorySearchResult, index: number) => MemorySearchResult): Partial<MemorySearchManager> {
  return { search: async (query, options) => (await right.search(query, options)).map(change) };
}

/** Passes the search on only where a condition holds; else there are no results. */
function searchWhere(right: MemorySearchManager, holds: (query: string, options: ManagerSearchOptions) => boolean): Partial<MemorySearchManager> {
  return { search: async (query, options) => (await right.search(query, options)).filter(() => holds(query, options)) };
}

const neverAborted = (): AbortSignal => new AbortController().signal;

export const wrongManagers: readonly WrongManager[] = [
  {
    fault: "counts lines from 0",
    caughtBy: "search: line numbers are 1-based and cover the line",
    spoil: (right) => eachResult(right, (result) => ({ ...result, startLine: Math.max(1, result.startLine - 1), endLine: Math.max(1, result.endLine - 1) })),
  },
  {
    fault: "is off by one line after a front matter",
    caughtBy: "search: line numbers hold with CRLF, a byte order mark, front matter, code and blank lines",
    spoil: (right) => eachResult(right, (result) => (result.path.endsWith("crlf.md") ? { ...result, startLine: result.startLine + 3, endLine: result.endLine + 3 } : result)),
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
    fault: "goes on answering for deleted files",
    caughtBy: "sync: removes a deleted file",
    spoil: (right) => rememberResults(right),
  },
  {
    fault: "keeps the old path of a renamed file beside the new one",
    caughtBy: "sync: a renamed file answers under its new path only",
    spoil: (right) => rememberResults(right),
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
            return { ...result, snippet: lines.slice(result.startLine - 1, result.endLine).join("\n").slice(0, 700) };
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
    spoil: (right) => ({ search: async (query, options) => (await right.search(query, options)).filter((result) => result.score >= options.minScore) }),
  },
  {
    fault: "weighs keyword results so that none reaches the default minScore",
    caughtBy: "search: words alone are enough under the default minScore",
    spoil: (right) => ({ search: async (query, options) => (await right.search(query, options)).filter((result) => result.score * 0.3 >= options.minScore) }),
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
    fault: "reads outside the workspace",
    caughtBy: "read: refuses paths outside the memory files",
    spoil: (right, { workspaceDir }) => ({ readFile: (params) => readAnything(right, workspaceDir, params) }),
  },
  {
    fault: "reads any file of the workspace",
    caughtBy: "read: refuses paths outside the memory files",
    spoil: (right, { workspaceDir }) => ({ readFile: (params) => (resolve(workspaceDir, params.relPath).startsWith(workspaceDir) ? readAnything(right, workspaceDir, params) : right.readFile(params)) }),
  },
  {
    fault: "throws for a missing file",
    caughtBy: "read: a missing file is not_found",
    spoil: (right) => ({
      async readFile(params) {
        const result = await right.readFile(params);
        if (result.status === "not_found") throw new MemoryError("WORKSPACE", "no such file");
        return result;
      },
    }),
  },
  {
    fault: "goes on one line too late",
    caughtBy: "read: following nextFrom gives every line once",
    spoil: (right) => ({
      async readFile(params) {
        const result = await right.readFile(params);
        return result.nextFrom === undefined ? result : { ...result, nextFrom: result.nextFrom + 1 };
      },
    }),
  },
  {
    fault: "never says that more remains",
    caughtBy: "read: a window gives its lines and where to go on",
    spoil: (right) => ({
      async readFile(params) {
        const { nextFrom: _nextFrom, ...result } = await right.readFile(params);
        return result;
      },
    }),
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
    fault: "keeps the abort from the embedding provider",
    caughtBy: "embeddings: an abort reaches the provider",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, signal: neverAborted() }) }),
  },
  {
    fault: "turns an abort into another error",
    caughtBy: "sync: aborted on its way ends, with AbortError or its answer",
    spoil: (right) => ({
      async sync(params) {
        await new Promise<void>((done) => setImmediate(done));
        await new Promise<void>((done) => setImmediate(done));
        if (params.signal.aborted) throw new Error("the sync broke off");
        return right.sync?.(params);
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
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, onDebug: ({ reason: _reason, ...report }) => options.onDebug(report) }) }),
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
    fault: "throws from status during a sync",
    caughtBy: "status: never throws and is JSON, from open to close",
    spoil(right) {
      let syncing = false;
      return {
        async sync(params) {
          syncing = true;
          return right.sync?.(params).finally(() => (syncing = false));
        },
        status() {
          if (syncing) throw new Error("busy");
          return right.status();
        },
      };
    },
  },
  {
    fault: "gives a status that JSON cannot carry",
    caughtBy: "status: never throws and is JSON, from open to close",
    spoil: (right) => ({ status: () => ({ ...right.status(), custom: { store: new Map(), size: 10n } }) }),
  },
  {
    fault: "gives a status that changes in the hands of its reader",
    caughtBy: "status: is a snapshot that later events do not change",
    spoil(right) {
      const status = right.status();
      return { status: () => Object.assign(status, right.status()) };
    },
  },
  {
    fault: "counts unchanged files as changed",
    caughtBy: "sync: report counts what was added, changed, removed and left alone",
    spoil: (right) => ({
      async sync(params) {
        const report = await right.sync?.(params);
        return report && { ...report, changed: report.changed + report.unchanged, unchanged: 0 };
      },
    }),
  },
  {
    fault: "starts from nothing at each open",
    caughtBy: "lifecycle: reopened on the same state folder answers the same without re-indexing",
    spoil(right) {
      let synced = false;
      return {
        search: async (query, options) => (await right.search(query, options)).filter(() => synced),
        async sync(params) {
          synced = true;
          return right.sync?.({ ...params, force: true });
        },
      };
    },
  },
  {
    fault: "ends the sync at the first bad file",
    caughtBy: "sync: a file that cannot be read is reported and the rest is indexed",
    spoil: (right) => ({
      async sync(params) {
        const report = await right.sync?.(params);
        if (report !== undefined && report.failed.length > 0) throw new MemoryError("WORKSPACE", "a file cannot be read");
        return report;
      },
    }),
  },
  {
    fault: "passes over a bad file in silence",
    caughtBy: "sync: a file that cannot be read is reported and the rest is indexed",
    spoil: (right) => ({
      async sync(params) {
        const report = await right.sync?.(params);
        return report && { ...report, failed: [] };
      },
    }),
  },
  {
    fault: "reports progress past the total",
    caughtBy: "sync: progress counts up to the total",
    spoil: (right) => ({ sync: async (params) => right.sync?.({ ...params, progress: ({ completed, total }) => params.progress({ completed: completed + 1, total }) }) }),
  },
  {
    fault: "takes a time stamp for the content",
    caughtBy: "sync: a file that was only touched is unchanged",
    spoil: (right) => ({
      async sync(params) {
        const report = await right.sync?.(params);
        return report && report.added === 0 ? { ...report, changed: 1, unchanged: report.unchanged - 1 } : report;
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
        return results.map((result, index) => (index === 1 && first !== undefined ? { ...result, snippet: first.snippet } : result));
      },
    }),
  },
  {
    fault: "finds no Chinese",
    caughtBy: "search: Chinese text is found by two characters",
    spoil: (right) => searchWhere(right, (query) => !/\p{Script=Han}/u.test(query)),
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
  {
    fault: "makes no use of the vectors",
    caughtBy: "vector: a paraphrase finds its file, with its similarity",
    spoil: (right) => ({ search: async (query, options) => (await right.search(query, options)).filter((result) => (result.textScore ?? 0) > 0) }),
  },
  {
    fault: "hides that the embedding provider is down",
    caughtBy: "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, onDebug: (report) => options.onDebug({ ...report, state: "ok" }) }) }),
  },
  {
    fault: "fails when the embedding provider does",
    caughtBy: "embeddings: a provider that fails every third call costs no file and no answer",
    spoil: (right) => ({
      async search(query, options) {
        let degraded: string | undefined;
        const results = await right.search(query, { ...options, onDebug: (report) => (degraded = report.state === "degraded" ? report.reason : undefined) });
        if (degraded !== undefined) throw new MemoryError("UNAVAILABLE", degraded);
        return results;
      },
    }),
  },
  {
    fault: "leaves a file open after close",
    caughtBy: "lifecycle: after close no file of the workspace or the state folder is open",
    spoil: (right, { workspaceDir }) => ({
      async sync(params) {
        leaked.push(openSync(join(workspaceDir, "MEMORY.md"), "r"));
        return right.sync?.(params);
      },
    }),
  },
  {
    fault: "shares one index between agents",
    caughtBy: "lifecycle: two agents with one state folder do not see each other's notes",
    spoil(right) {
      return {
        async search(query, options) {
          const results = await right.search(query, options);
          shared.push(...results);
          return [...new Map([...shared, ...results].map((result) => [result.path, result])).values()];
        },
      };
    },
  },
  {
    fault: "forgets everything when the workspace is away for a moment",
    caughtBy: "faults: a workspace that vanishes gives errors with a code, and nothing is forgotten when it comes back",
    spoil: (right) => ({
      async sync(params) {
        try {
          return await right.sync?.(params);
        } catch (error) {
          if (params.signal.aborted || !MemoryError.is(error, "WORKSPACE")) throw error;
          return { added: 0, changed: 0, removed: 1, unchanged: 0, failed: [] };
        }
      },
    }),
  },
  {
    fault: "tidies up the notes",
    caughtBy: "files: the notes are left as they were",
    spoil: (right, { workspaceDir }) => ({
      async sync(params) {
        const { writeFile } = await import("node:fs/promises");
        await writeFile(join(workspaceDir, "memory", ".indexed"), "");
        return right.sync?.(params);
      },
    }),
  },
];

const leaked: number[] = [];
const shared: MemorySearchResult[] = [];

/** Closes what the leaking manager left open. */
export function closeLeaked(): void {
  for (const descriptor of leaked.splice(0)) closeSync(descriptor);
}

/** Adds whatever was found before to what is found now. */
function rememberResults(right: MemorySearchManager): Partial<MemorySearchManager> {
  const seen = new Map<string, MemorySearchResult>();
  return {
    async search(query, options) {
      for (const result of await right.search(query, options)) seen.set(result.path, result);
      return [...seen.values()];
    },
  };
}

async function readAnything(right: MemorySearchManager, workspaceDir: string, params: ManagerReadParams): ReturnType<MemorySearchManager["readFile"]> {
  try {
    return await right.readFile(params);
  } catch (error) {
    if (!MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
    const text = await readFile(resolve(workspaceDir, params.relPath), "utf8").catch(() => undefined);
    if (text === undefined) throw error;
    return { status: "ok", text, path: params.relPath, from: 1, lines: text.split("\n").length };
  }
}
