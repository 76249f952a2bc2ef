import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type MemoryPluginContext,
  MemoryError,
  type MemorySearchManager,
  type MemorySearchResult,
} from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

const sound = "check: an index that was synced is sound, and every finding says what was looked at";
const mended = "check: with fix there is nothing to mend in a sound index, and the answers stay as they were";
const sources = "status: the counts of the sources add up, and each is of the source that it names";
const quiet = "status: nobody is at work after a sync, and what it says of builds, watching and times can be read";

export const upkeeping: readonly WrongManager[] = [
  {
    fault: "takes a sound index for a broken one",
    caughtBy: sound,
    spoil: () => ({
      check: async () => ({ ok: false, findings: [{ name: "words", ok: false, message: "30 chunks, 60 words" }] }),
    }),
  },
  {
    fault: "calls an index sound without a look at it",
    caughtBy: sound,
    spoil: () => ({ check: async () => ({ ok: true, findings: [] }) }),
  },
  {
    fault: "calls an index sound whatever it has found",
    caughtBy: sound,
    spoil: () => ({ check: async () => ({ ok: true, findings: [{ name: "words", ok: false, message: "none" }] }) }),
  },
  {
    fault: "mends what is whole",
    caughtBy: mended,
    spoil: () => ({
      check: async () => ({ ok: true, findings: [{ name: "words", ok: true, message: "all there", fixed: "anew" }] }),
    }),
  },
  {
    fault: "loses the index while it mends it",
    caughtBy: mended,
    spoil(right) {
      let lost = false;
      return {
        async check(params) {
          lost = params.fix;
          return (await right.check?.(params)) ?? { ok: true, findings: [] };
        },
        search: async (query, options) => (await right.search(query, options)).slice(lost ? 1 : 0),
      };
    },
  },
  {
    fault: "asks the provider while it checks",
    caughtBy: "check: sends nothing to the embedding provider",
    spoil: (right) => ({
      async check(params) {
        await right.probeEmbeddingAvailability(params.signal);
        return (await right.check?.(params)) ?? { ok: true, findings: [] };
      },
    }),
  },
  {
    fault: "grows when space is to be given back",
    caughtBy: "compact: says what it brought, and the answers stay as they were",
    spoil: () => ({ compact: async () => ({ beforeBytes: 10, afterBytes: 20 }) }),
  },
  {
    fault: "gives notes away with the space",
    caughtBy: "compact: says what it brought, and the answers stay as they were",
    spoil: (right) => loseAfterCompact(right, (results) => results.slice(1)),
  },
  {
    fault: "answers nothing more after space was given back",
    caughtBy: "compact: the index is fit for use afterwards, also when a search comes meanwhile",
    spoil: (right) => loseAfterCompact(right, () => []),
  },
  {
    fault: "is busy with itself",
    caughtBy: "sync: with wait false it is done when nobody else is at work on the index",
    spoil: (right) => ({
      async sync(params) {
        if (!params.wait) throw new MemoryError("BUSY", "another process is at work on the index");
        return right.sync?.(params);
      },
    }),
  },
  {
    fault: "counts each note for every source",
    caughtBy: sources,
    spoil: (right) => ({
      status() {
        const status = right.status();
        const [own] = status.sourceCounts ?? [];
        return { ...status, sourceCounts: own ? [own, { ...own, source: "sessions" }] : [] };
      },
    }),
  },
  {
    fault: "does not count by source",
    caughtBy: sources,
    spoil: (right) => ({ status: () => ({ ...right.status(), sourceCounts: undefined }) }),
  },
  {
    fault: "is at work for ever",
    caughtBy: quiet,
    spoil: (right) => ({
      status: () => ({ ...right.status(), writer: { pid: 1, reason: "a sync", since: "2026-01-01T00:00:00.000Z" } }),
    }),
  },
  {
    fault: "does not say what asked for the last sync",
    caughtBy: quiet,
    spoil: (right) => ({
      status() {
        const { lastSync, ...status } = right.status();
        return { ...status, lastSync: lastSync && { ...lastSync, reason: "application" } };
      },
    }),
  },
  {
    fault: "watches though it was told not to",
    caughtBy: quiet,
    spoil: (right) => ({ status: () => ({ ...right.status(), watch: { mode: "recursive" } }) }),
  },
  {
    fault: "gives times that nobody can read",
    caughtBy: quiet,
    spoil: (right) => ({ status: () => ({ ...right.status(), generation: { id: 1, builtAt: "in the morning" } }) }),
  },
  {
    fault: "does not look for new notes",
    caughtBy: "freshness: a saved note is found by the next search",
    spoil: (right) => onlyKnown(right),
  },
  {
    fault: "does not notice that a note is gone",
    caughtBy: "freshness: a deleted note is not found by the next search",
    spoil: (right) => keepAll(right),
  },
  {
    fault: "has a renamed note twice",
    caughtBy: "freshness: a renamed note is found under its new name only",
    spoil: (right) => keepAll(right),
  },
  {
    fault: "shows the words of a note as they were",
    caughtBy: "freshness: a changed note is found by its new words only",
    spoil: (right, context) => firstVersions(right, context),
  },
];

function loseAfterCompact(
  right: MemorySearchManager,
  lose: (results: MemorySearchResult[]) => MemorySearchResult[],
): Partial<MemorySearchManager> {
  let compacted = false;
  return {
    async compact(params) {
      compacted = true;
      return (await right.compact?.(params)) ?? { beforeBytes: 0, afterBytes: 0 };
    },
    async search(query, options) {
      const results = await right.search(query, options);
      return compacted ? lose(results) : results;
    },
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

/** Adds whatever was found before to what is found now. */
function keepAll(right: MemorySearchManager): Partial<MemorySearchManager> {
  const seen = new Map<string, MemorySearchResult>();
  return {
    async search(query, options) {
      for (const result of await right.search(query, options)) seen.set(result.path, result);
      return [...seen.values()];
    },
  };
}

/** Shows each note as it was when it was found for the first time. */
function firstVersions(
  right: MemorySearchManager,
  { workspaceDir }: MemoryPluginContext,
): Partial<MemorySearchManager> {
  const first = new Map<string, string>();
  return {
    async sync(params) {
      const path = "memory/a.md";
      first.set(path, first.get(path) ?? (await readFile(join(workspaceDir, path), "utf8")));
      return right.sync?.(params);
    },
    async search(query, options) {
      const results = await right.search(query === "puffin" ? "cliff" : query, options);
      return results.map((result) => ({ ...result, snippet: first.get(result.path) ?? result.snippet }));
    },
  };
}
