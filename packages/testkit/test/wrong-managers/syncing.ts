import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type MemorySearchManager, type MemorySearchResult, MemoryError } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

export const syncing: readonly WrongManager[] = [
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
    fault: "ends the sync at the first bad file",
    caughtBy: "sync: a file that cannot be read is reported and the rest is indexed",
    spoil: (right) => ({
      async sync(params) {
        const report = await right.sync?.(params);
        const bad = right.status().roots?.some(({ path }) => path === "memory/m.md") ?? false;
        if (report !== undefined && (report.failed.length > 0 || bad))
          throw new MemoryError("WORKSPACE", "a file cannot be read");
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
      status: () => ({ ...right.status(), roots: [] }),
    }),
  },
  {
    fault: "reports progress past the total",
    caughtBy: "sync: progress counts up to the total",
    spoil: (right) => ({
      sync: async (params) =>
        right.sync?.({
          ...params,
          progress: ({ completed, total }) => params.progress({ completed: completed + 1, total }),
        }),
    }),
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
        await writeFile(join(workspaceDir, "memory", ".indexed"), "");
        return right.sync?.(params);
      },
    }),
  },
];

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
