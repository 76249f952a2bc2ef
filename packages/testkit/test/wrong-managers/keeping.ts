import { writeFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type MemorySearchManager,
  type MemorySearchResult,
  MemoryError,
  type MemoryPluginContext,
  type SyncReport,
} from "@memslot/core";
import { type SpoilManager, type WrongManagers, beforeCalls, changeAnswers } from "../wrong.ts";

export const syncing: WrongManagers = {
  "sync: removes a deleted file": {
    "goes on answering for deleted files": (right) => rememberResults(right),
  },
  "sync: a renamed file answers under its new path only": {
    "keeps the old path of a renamed file beside the new one": (right) => rememberResults(right),
  },
  "sync: aborted on its way ends, with AbortError or its answer": {
    "turns an abort into another error": (right) =>
      beforeCalls(right, {
        async sync(params) {
          await new Promise<void>((done) => setImmediate(done));
          await new Promise<void>((done) => setImmediate(done));
          if (params.signal.aborted) throw new Error("the sync broke off");
        },
      }),
  },
  "sync: report counts what was added, changed, removed and left alone": {
    "counts unchanged files as changed": (right) =>
      eachReport(right, ({ changed, unchanged, ...report }) => ({
        ...report,
        changed: changed + unchanged,
        unchanged: 0,
      })),
  },
  "sync: a file that cannot be read is reported and the rest is indexed": {
    "ends the sync at the first bad file": (right) =>
      eachReport(right, (report) => {
        const isBad = right.status().roots?.some(({ path }) => path === "memory/m.md") ?? false;
        if (report.failed.length > 0 || isBad) throw new MemoryError("WORKSPACE", "a file cannot be read");
        return report;
      }),
    "passes over a bad file in silence": (right) => ({
      ...eachReport(right, (report) => ({ ...report, failed: [] })),
      status: () => ({ ...right.status(), roots: [] }),
    }),
  },
  "sync: progress counts up to the total": {
    "reports progress past the total": (right) => ({
      sync: async (params) =>
        right.sync?.({
          ...params,
          progress: ({ completed, total }) => params.progress({ completed: completed + 1, total }),
        }),
    }),
  },
  "sync: a file that was only touched is unchanged": {
    "takes a time stamp for the content": (right) =>
      eachReport(right, (report) =>
        report.added === 0 ? { ...report, changed: 1, unchanged: report.unchanged - 1 } : report,
      ),
  },
  "faults: a workspace that vanishes gives errors with a code, and nothing is forgotten when it comes back": {
    "forgets everything when the workspace is away for a moment": (right) => ({
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
  "files: the notes are left as they were": {
    "tidies up the notes": (right, { workspaceDir }) =>
      beforeCalls(right, {
        async sync() {
          await writeFile(join(workspaceDir, "memory", ".indexed"), "");
        },
      }),
  },
};

/** Adds whatever was found before to what is found now. */
function rememberResults(right: MemorySearchManager): Partial<MemorySearchManager> {
  const seen = new Map<string, MemorySearchResult>();
  return changeAnswers(right, {
    search(results) {
      for (const result of results) seen.set(result.path, result);
      return [...seen.values()];
    },
  });
}

/** Changes the report of each sync. */
function eachReport(
  right: MemorySearchManager,
  change: (report: SyncReport) => SyncReport,
): Partial<MemorySearchManager> {
  return changeAnswers(right, { sync: (report) => report && change(report) });
}

export const upkeeping: WrongManagers = {
  "check: an index that was synced is sound, and every finding says what was looked at": {
    "takes a sound index for a broken one": () => ({
      check: async () => ({ ok: false, findings: [{ name: "words", ok: false, message: "30 chunks, 60 words" }] }),
    }),
    "calls an index sound without a look at it": () => ({ check: async () => ({ ok: true, findings: [] }) }),
    "calls an index sound whatever it has found": () => ({
      check: async () => ({ ok: true, findings: [{ name: "words", ok: false, message: "none" }] }),
    }),
  },
  "check: with fix there is nothing to mend in a sound index, and the answers stay as they were": {
    "mends what is whole": () => ({
      check: async () => ({ ok: true, findings: [{ name: "words", ok: true, message: "all there", fixed: "anew" }] }),
    }),
    "loses the index while it mends it"(right) {
      let lost = false;
      return {
        ...beforeCalls(right, { check: (params) => (lost = params.fix) }),
        ...changeAnswers(right, { search: (results) => results.slice(lost ? 1 : 0) }),
      };
    },
  },
  "check: sends nothing to the embedding provider": {
    "asks the provider while it checks": (right) =>
      beforeCalls(right, { check: ({ signal }) => right.probeEmbeddingAvailability(signal) }),
  },
  "compact: says what it brought, and the answers stay as they were": {
    "grows when space is to be given back": () => ({ compact: async () => ({ beforeBytes: 10, afterBytes: 20 }) }),
    "gives notes away with the space": (right) => loseAfterCompact(right, (results) => results.slice(1)),
  },
  "compact: the index is fit for use afterwards, also when a search comes meanwhile": {
    "answers nothing more after space was given back": (right) => loseAfterCompact(right, () => []),
  },
  "sync: with wait false it is done when nobody else is at work on the index": {
    "is busy with itself": (right) =>
      beforeCalls(right, {
        sync(params) {
          if (!params.wait) throw new MemoryError("BUSY", "another process is at work on the index");
        },
      }),
  },
  "status: the counts of the sources add up, and each is of the source that it names": {
    "counts each note for every source": (right) => ({
      status() {
        const status = right.status();
        const [own] = status.sourceCounts ?? [];
        return { ...status, sourceCounts: own ? [own, { ...own, source: "sessions" }] : [] };
      },
    }),
    "does not count by source": (right) => ({ status: () => ({ ...right.status(), sourceCounts: undefined }) }),
  },
  "status: nobody is at work after a sync, and what it says of builds, watching and times can be read": {
    "is at work for ever": (right) => ({
      status: () => ({ ...right.status(), writer: { pid: 1, reason: "a sync", since: "2026-01-01T00:00:00.000Z" } }),
    }),
    "does not say what asked for the last sync": (right) => ({
      status() {
        const { lastSync, ...status } = right.status();
        return { ...status, lastSync: lastSync && { ...lastSync, reason: "application" } };
      },
    }),
    "watches though it was told not to": (right) => ({
      status: () => ({ ...right.status(), watch: { mode: "recursive" } }),
    }),
    "gives times that nobody can read": (right) => ({
      status: () => ({ ...right.status(), generation: { id: 1, builtAt: "in the morning" } }),
    }),
  },
  "freshness: a saved note is found by the next search": {
    "does not look for new notes": (right) => onlyKnown(right),
  },
  "freshness: a deleted note is not found by the next search": {
    "does not notice that a note is gone": (right) => rememberResults(right),
  },
  "freshness: a renamed note is found under its new name only": {
    "has a renamed note twice": (right) => rememberResults(right),
  },
  "freshness: a changed note is found by its new words only": {
    "shows the words of a note as they were": (right, context) => firstVersions(right, context),
  },
};

function loseAfterCompact(
  right: MemorySearchManager,
  lose: (results: MemorySearchResult[]) => MemorySearchResult[],
): Partial<MemorySearchManager> {
  let compacted = false;
  return {
    ...beforeCalls(right, { compact: () => (compacted = true) }),
    ...changeAnswers(right, { search: (results) => (compacted ? lose(results) : results) }),
  };
}

/** Finds what was there at the first sync. */
function onlyKnown(right: MemorySearchManager): Partial<MemorySearchManager> {
  const known = new Set<string>();
  return {
    async sync(params) {
      const report = await right.sync?.(params);
      const all = { maxResults: 200, minScore: 0, strict: false, sources: ["memory"], audience: "private" } as const;
      const { signal } = params;
      const options = { ...all, maxTokens: 4000, sessionKey: undefined, signal, onDebug: () => undefined };
      for (const { path } of await right.search("puffin", options)) known.add(path);
      return report;
    },
    search: async (query, options) => (await right.search(query, options)).filter(({ path }) => known.has(path)),
  };
}

/** Shows each note as it was when it was found for the first time. */
function firstVersions(
  right: MemorySearchManager,
  { workspaceDir }: MemoryPluginContext,
): Partial<MemorySearchManager> {
  const first = new Map<string, string>();
  return {
    ...beforeCalls(right, {
      async sync() {
        const path = "memory/a.md";
        first.set(path, first.get(path) ?? (await readFile(join(workspaceDir, path), "utf8")));
      },
    }),
    async search(query, options) {
      const results = await right.search(query === "puffin" ? "cliff" : query, options);
      return results.map((result) => ({ ...result, snippet: first.get(result.path) ?? result.snippet }));
    },
  };
}

/** Keeps one index for all that have the same name: whoever opens it first fills it, and it answers everybody. */
function sharing(nameOf: (context: MemoryPluginContext) => string): SpoilManager {
  const kept = new Map<string, MemorySearchManager>();
  return (right, context) => {
    const first = kept.get(nameOf(context)) ?? right;
    kept.set(nameOf(context), first);
    return {
      search: (query, options) => first.search(query, options),
      // It is closed with the process.
      close: async () => undefined,
    };
  };
}

export const misplacing: WrongManagers = {
  "places: two workspaces of one agent, open at once, find their own notes alone": {
    "keeps the index of an agent under its id alone": sharing(({ stateDir, agentId }) => `${stateDir} ${agentId}`),
  },
  "places: two workspaces of one agent, open one after the other, find their own notes alone": {
    "goes on with the index of an agent in another workspace": sharing(
      ({ stateDir, agentId }) => `${stateDir} ${agentId}`,
    ),
  },
  "places: two agents, each with a workspace, open at once, find their own notes alone": {
    "has one index for all agents": sharing(({ stateDir }) => stateDir),
  },
  "places: two agents, each with a workspace, open one after the other, find their own notes alone": {
    "goes on with the index of another agent": sharing(({ stateDir }) => stateDir),
  },
};
