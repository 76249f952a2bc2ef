import { writeFile } from "node:fs/promises";
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
  "sync.deleted": {
    "goes on answering for deleted files": (right) => rememberResults(right),
  },
  "sync.renamed": {
    "keeps the old path of a renamed file beside the new one": (right) => rememberResults(right),
  },
  "sync.abort-during": {
    "turns an abort into another error": (right) =>
      beforeCalls(right, {
        async sync(params) {
          await new Promise<void>((done) => setImmediate(done));
          await new Promise<void>((done) => setImmediate(done));
          if (params.signal.aborted) throw new Error("the sync broke off");
        },
      }),
  },
  "sync.counts": {
    "counts unchanged files as changed": (right) =>
      eachReport(right, ({ changed, unchanged, ...report }) => ({
        ...report,
        changed: changed + unchanged,
        unchanged: 0,
      })),
    "takes a time stamp for the content": (right) =>
      eachReport(right, (report) =>
        report.added === 0 ? { ...report, changed: 1, unchanged: report.unchanged - 1 } : report,
      ),
  },
  "sync.unreadable": {
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
  "sync.progress": {
    "reports progress past the total": (right) => ({
      sync: async (params) =>
        right.sync?.({
          ...params,
          progress: ({ completed, total }) => params.progress({ completed: completed + 1, total }),
        }),
    }),
  },
  "faults.workspace-gone": {
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
  "notes.unchanged": {
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
  "check.sound": {
    "takes a sound index for a broken one": () => ({
      check: async () => ({ ok: false, findings: [{ name: "words", ok: false, message: "30 chunks, 60 words" }] }),
    }),
    "calls an index sound without a look at it": () => ({ check: async () => ({ ok: true, findings: [] }) }),
    "calls an index sound whatever it has found": () => ({
      check: async () => ({ ok: true, findings: [{ name: "words", ok: false, message: "none" }] }),
    }),
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
  "check.no-embedding": {
    "asks the provider while it checks": (right) =>
      beforeCalls(right, { check: ({ signal }) => right.probeEmbeddingAvailability(signal) }),
  },
  "compact.answers": {
    "grows when space is to be given back": () => ({ compact: async () => ({ beforeBytes: 10, afterBytes: 20 }) }),
    "gives notes away with the space": (right) => loseAfterCompact(right, (results) => results.slice(1)),
  },
  "compact.usable": {
    "answers nothing more after space was given back": (right) => loseAfterCompact(right, () => []),
  },
  "sync.no-wait": {
    "is busy with itself": (right) =>
      beforeCalls(right, {
        sync(params) {
          if (!params.wait) throw new MemoryError("BUSY", "another process is at work on the index");
        },
      }),
  },
  "status.counts": {
    "counts each note for every source": (right) => ({
      status() {
        const status = right.status();
        const [own] = status.sourceCounts ?? [];
        return { ...status, sourceCounts: own ? [own, { ...own, source: "sessions" }] : [] };
      },
    }),
    "does not count by source": (right) => ({ status: () => ({ ...right.status(), sourceCounts: undefined }) }),
  },
  "status.sync": {
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
  "fresh.saved": {
    "does not scan for new notes": (right) => onlyKnown(right),
  },
  "fresh.deleted": {
    "does not notice that a note is gone": (right) => rememberResults(right),
  },
  "fresh.renamed": {
    "has a renamed note twice": (right) => rememberResults(right),
  },
  "fresh.changed": {
    "shows a note as it was when it was first found"(right) {
      const first = new Map<string, string>();
      return changeAnswers(right, {
        search: (results) =>
          results.map((result) => {
            const snippet = first.get(result.path) ?? result.snippet;
            first.set(result.path, snippet);
            return { ...result, snippet };
          }),
      });
    },
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

/** Finds only files of the first answer. */
function onlyKnown(right: MemorySearchManager): Partial<MemorySearchManager> {
  let known: Set<string> | undefined;
  return changeAnswers(right, {
    search(results) {
      known ??= new Set(results.map(({ path }) => path));
      return results.filter(({ path }) => known?.has(path));
    },
  });
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
  "places.workspaces-at-once": {
    "keeps the index of an agent under its id alone": sharing(({ stateDir, agentId }) => `${stateDir} ${agentId}`),
  },
  "places.workspaces-in-turn": {
    "goes on with the index of an agent in another workspace": sharing(
      ({ stateDir, agentId }) => `${stateDir} ${agentId}`,
    ),
  },
  "places.agents-at-once": {
    "has one index for all agents": sharing(({ stateDir }) => stateDir),
  },
  "places.agents-in-turn": {
    "goes on with the index of another agent": sharing(({ stateDir }) => stateDir),
  },
};
