import { join } from "node:path";
import type {
  CompactReport,
  ManagerSyncParams,
  MemoryProviderStatus,
  MemorySearchManager,
  MemorySearchResult,
  SearchReport,
  SyncReport,
} from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { checkIndex } from "./check-index.ts";
import { toMemoryError } from "./failures.ts";
import type { QmdContext } from "./open-memory-parts.ts";
import { maySearch, type QmdOptions } from "./options.ts";
import { indexBytes, indexFile } from "./state-folder.ts";

export const backend = "memory-qmd";
/** Reasons of syncs that no caller waits for: qmd is updated later. */
const backgroundReasons: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);

/** The memory that searches with qmd. `inner` scans the notes and finishes answers, as for every backend. */
export function createQmdManager(context: QmdContext, inner: MemorySearchManager): MemorySearchManager {
  const { options, client, semantic, updates } = context;
  return {
    capabilities: { keyword: true, vector: false, ownsIndex: true },

    async search(query, given) {
      const { maxResults = given.maxResults } = options.limits;
      if (!maySearch(options.scope, given.sessionKey)) {
        given.onDebug(refusal);
        return [];
      }
      let report: SearchReport | undefined;
      const results = await inner.search(query, {
        ...given,
        maxResults: Math.min(maxResults, given.maxResults),
        onDebug: (each) => (report = each),
      });
      if (report === undefined) return results;
      const answer = withinLimits(results, report, options.limits);
      given.onDebug(answer.report);
      return answer.results;
    },

    readFile: (params) => inner.readFile(params),
    status: () => statusOf(inner.status(), context),
    sync: (params) => sync(context, inner, params),
    ...(inner.listFiles && { listFiles: inner.listFiles.bind(inner) }),
    ...(inner.describeFile && { describeFile: inner.describeFile.bind(inner) }),
    ...(inner.survey && { survey: inner.survey.bind(inner) }),
    check: ({ fix, signal }) => checkIndex(context, fix, signal),
    compact: ({ signal }) => compact(context, signal),

    async probeEmbeddingAvailability(signal) {
      signal.throwIfAborted();
      if (!semantic.isWanted)
        return { ok: false, error: 'qmd finds by words alone: memory.qmd.searchMode is "search"' };
      const state = await semantic.prepare(updates.index.status?.hasVectorIndex);
      return state.use ? { ok: true } : { ok: false, error: state.why?.reason };
    },

    async probeVectorAvailability(signal) {
      signal.throwIfAborted();
      if (!semantic.isWanted) return false;
      try {
        const { hasVectorIndex } = await updates.index.readStatus(signal);
        return (await semantic.prepare(hasVectorIndex)).use;
      } catch (error) {
        throw toMemoryError(error);
      }
    },

    async close() {
      // An update writes to the ledger, which `inner` closes.
      await Promise.all([updates.close(), client.close()]);
      await inner.close?.();
    },
  };
}

export async function scanNotes(inner: MemorySearchManager, reason: string, signal: AbortSignal): Promise<void> {
  await inner.sync?.({ reason, force: false, wait: true, progress: () => undefined, signal });
}

/** Scans the notes and updates qmd: now if a caller waits for it, else later. */
async function sync(
  { updates }: QmdContext,
  inner: MemorySearchManager,
  params: ManagerSyncParams,
): Promise<SyncReport | undefined> {
  let last = { completed: 0, total: 0 };
  const progress = (update: typeof last): void => {
    last = update;
    params.progress(update);
  };
  const report = await inner.sync?.({ ...params, progress });
  if (backgroundReasons.has(params.reason) || params.sessions !== undefined) {
    updates.request("later");
    return report;
  }
  if (last.total > 0) params.progress({ ...last, label: "the index of qmd" });
  try {
    await updates.now({ force: params.force, signal: params.signal });
  } catch (error) {
    throw toMemoryError(error);
  }
  return report;
}

async function compact({ folder, client }: QmdContext, signal: AbortSignal): Promise<CompactReport> {
  signal.throwIfAborted();
  const beforeBytes = indexBytes(folder);
  try {
    if (beforeBytes > 0) await client.cleanup(signal);
  } catch (error) {
    throw toMemoryError(error);
  }
  // The log of the database may have grown, and shrinks when the database is closed.
  return { beforeBytes, afterBytes: Math.min(beforeBytes, indexBytes(folder)) };
}

const [why, next] = [sentence("qmd.scope"), sentence("next.qmdScope")];
const refusal: SearchReport = {
  backend,
  mode: "keyword",
  state: "ok",
  reason: why.reason,
  reasons: [why],
  action: next.reason,
  actions: [next],
  legs: {},
  dropped: { minScore: 0, source: 0, limit: 0 },
};

const namedNotes = 3;

function statusOf(
  inner: MemoryProviderStatus,
  { found, folder, updates, record, options, client, semantic }: QmdContext,
): MemoryProviderStatus {
  const { hasModels, cooldown } = semantic;
  const { lastError, index } = updates;
  const { updatedAt, updateMs } = record.state;
  const unseen = index.unseen();
  const isSemantic = semantic.isWanted && hasModels === true && cooldown === undefined;
  // qmd has read their folder and will never index them.
  const excluded = unseen.filter(({ seen, hash }) => seen === hash);
  const names = excluded.slice(0, namedNotes).map(({ path }) => path);
  if (excluded.length > namedNotes) names.push("…");
  const notice = `qmd does not index ${excluded.length} notes, which memslot searches itself: ${names.join(", ")}`;
  const { roots = [], storage } = inner;
  return {
    ...inner,
    dbPath: join(folder, indexFile),
    storage: storage && { ...storage, databaseBytes: storage.databaseBytes + indexBytes(folder) },
    generation: undefined,
    roots: roots.length > 0 ? roots : options.paths.map(({ path }) => ({ path, state: "indexed" })),
    lastSyncError: inner.lastSyncError ?? lastError?.message,
    lastError: inner.lastError ?? (lastError && { message: lastError.message, at: lastError.at }),
    custom: {
      ...inner.custom,
      searchMode: isSemantic && index.status?.hasVectorIndex === true ? "hybrid" : "keyword",
      providerUnavailableReason: "qmd finds by words, and by meaning with models of its own",
      notices: [...(inner.custom?.notices ?? []), ...(excluded.length === 0 ? [] : [notice])],
      qmd: {
        version: found.version,
        location: found.location,
        folder,
        searchMode: options.searchMode,
        mode: isSemantic ? "semantic" : "lexical",
        resting: cooldown?.reason,
        modelsPresent: hasModels,
        ...client.state(),
        documents: index.status?.documents,
        needsEmbedding: index.status?.needsEmbedding,
        waiting: unseen.length - excluded.length,
        passedOver: excluded.length,
        lastUpdate: updatedAt,
        lastUpdateMs: updateMs,
      },
    },
  };
}

/** Cuts an answer to `memory.qmd.limits`: shorter snippets, and no more text than `maxInjectedChars`. */
function withinLimits(
  results: readonly MemorySearchResult[],
  report: SearchReport,
  { maxSnippetChars, maxInjectedChars }: QmdOptions["limits"],
): { results: MemorySearchResult[]; report: SearchReport } {
  const cut = results.map((result) => ({ ...result, snippet: shortened(result.snippet, maxSnippetChars) }));
  let characters = 0;
  const kept = cut.filter(({ snippet }, index) => {
    characters += snippet.length;
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

function shortened(snippet: string, limit: number | undefined): string {
  if (limit === undefined || snippet.length <= limit) return snippet;
  const end = snippet.lastIndexOf("\n", limit - 2);
  if (end > 0) return `${snippet.slice(0, end)}\n…`;
  return `${snippet
    .slice(0, limit - 1)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}
