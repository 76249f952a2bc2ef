import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type MemorySearchResult, MemoryError } from "@memslot/core";
import { type WrongManager, neverAborted } from "./wrong-manager.ts";

const leaked: number[] = [];
const shared: MemorySearchResult[] = [];

/** Closes what the leaking manager left open. */
export function closeLeaked(): void {
  for (const descriptor of leaked.splice(0)) closeSync(descriptor);
}

export const living: readonly WrongManager[] = [
  {
    fault: "keeps the abort from the embedding provider",
    caughtBy: "embeddings: an abort reaches the provider",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, signal: neverAborted() }) }),
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
    fault: "makes no use of the vectors",
    caughtBy: "vector: a paraphrase finds its file, with its similarity",
    spoil: (right) => ({
      search: async (query, options) =>
        (await right.search(query, options)).filter((result) => (result.textScore ?? 0) > 0),
    }),
  },
  {
    fault: "hides that the embedding provider is down",
    caughtBy: "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
    spoil: (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, onDebug: (report) => options.onDebug({ ...report, state: "ok" }) }),
    }),
  },
  {
    fault: "fails when the embedding provider does",
    caughtBy: "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
    spoil: (right) => ({
      async search(query, options) {
        let degraded: string | undefined;
        const results = await right.search(query, {
          ...options,
          onDebug: (report) => (degraded = report.state === "degraded" ? report.reason : undefined),
        });
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
    fault: "fails where it finds nothing by words",
    caughtBy: "quality: every query is answered without an error",
    spoil: (right) => ({
      capabilities: { ...right.capabilities, vector: false },
      async search(query, options) {
        const results = (await right.search(query, options)).filter((result) => result.textScore !== undefined);
        if (results.length === 0) throw new MemoryError("UNAVAILABLE", "nothing was found");
        return results;
      },
    }),
  },
  {
    fault: "takes an index that was never synced for fresh",
    caughtBy: "status: an index that was never synced is dirty",
    spoil: (right) => ({ status: () => ({ ...right.status(), dirty: false }) }),
  },
  {
    fault: "cannot be closed",
    caughtBy: "lifecycle: closing twice is closing once",
    spoil: (right) => ({
      async close() {
        await right.close?.();
        throw new Error("still in use");
      },
    }),
  },
];
