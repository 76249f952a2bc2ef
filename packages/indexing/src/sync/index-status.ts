import type {
  EmbeddingChoice,
  FreshnessStatus,
  MemoryProviderStatus,
  MemorySearchSettings,
  SourceCount,
  WatchStatus,
  ExcludedNotes,
  MemorySource,
  MemorySurvey,
} from "@memslot/core";
import type { GenerationFacts, IndexHealth } from "../index-row-types.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { IndexFacts } from "./sync-state.ts";
import { type Excluded, excludedIn } from "../search/session-scope.ts";
import { readFailure } from "./sync.ts";
import { closeSync, openSync } from "node:fs";
import { recordedState } from "../scan/file-state.ts";
import { openForReading } from "../scan/open-file.ts";
import { sentenceIn, storedSentence } from "@memslot/core/host";
import { codeOf } from "@memslot/core/files";
import type { IndexedSource, SourceScope, StoredFiles } from "../indexed-source.ts";
import { createTimeSlices } from "../time-slices.ts";

export function statusOfIndex(input: {
  backend: string;
  workspaceDir: string;
  settings: MemorySearchSettings;
  choice: EmbeddingChoice;
  health: IndexHealth;
  facts: IndexFacts;
  watch: WatchStatus;
  freshness: FreshnessStatus;
  vectors: Embedder | undefined;
}): MemoryProviderStatus {
  const { settings, choice, health, facts, vectors } = input;
  const { stats } = facts;
  const { provider } = choice;
  const embedding = vectors?.facts();
  const { batch } = settings.remote;
  return {
    backend: input.backend,
    provider: provider?.id ?? "none",
    model: provider?.model,
    requestedProvider: choice.requested,
    files: stats.files,
    chunks: stats.chunks,
    dirty: facts.dirty,
    workspaceDir: input.workspaceDir,
    dbPath: health.location,
    extraPaths: settings.extraPaths,
    sources: settings.sources,
    sourceCounts: sourceCounts(settings.sources, facts),
    roots: facts.roots,
    excluded: facts.sources.size === 0 ? undefined : allExcluded(facts.sources),
    cache: {
      enabled: settings.cache.enabled,
      entries: stats.cachedVectors,
      maxEntries: settings.cache.maxEntries,
    },
    fts: health.fts,
    vector: {
      ...health.vector,
      storeAvailable: true,
      semanticAvailable:
        embedding?.missing === undefined && vectors
          ? undefined
          : (embedding?.embedded ?? 0) > 0 && embedding?.status.sameVectors === undefined,
      index: { state: vectorState(stats.chunks, embedding) },
      dims: embedding?.dimensions,
      embedded: embedding?.embedded ?? 0,
    },
    embedding: embedding?.status ?? { ...sentenceIn(choice), passedOver: choice.passedOver },
    fallback: embedding?.fallback,
    storage: {
      databaseBytes: stats.databaseBytes,
      walBytes: stats.walBytes,
      reusableBytes: stats.reusableBytes,
      embeddingCacheBytes: stats.cachedVectorBytes,
      embeddingCacheEntries: stats.cachedVectors,
    },
    batch: {
      enabled: batch.enabled,
      wait: batch.wait,
      concurrency: batch.concurrency,
      pollIntervalMs: batch.pollIntervalMs,
      timeoutMs: batch.timeoutMinutes * 60_000,
      limit: null,
      failures: embedding?.batchFailures?.count ?? 0,
      lastError: embedding?.batchFailures?.message,
      lastProvider: embedding?.batchFailures?.provider,
    },
    generation: stats.generation && generationOf(stats.generation, facts),
    writer: facts.writer,
    watch: input.watch,
    freshness: input.freshness,
    lastSync: facts.lastSync,
    lastSyncError: facts.lastSyncError,
    lastError: facts.lastError,
    custom: {
      searchMode: !vectors ? "keyword" : health.fts.available ? "hybrid" : "vector",
      providerUnavailableReason: provider ? undefined : choice.reason,
      notices: health.notices,
      remarks: health.remarks,
    },
  };
}

function sourceCounts(wanted: readonly string[], { stats, sources }: IndexFacts): SourceCount[] {
  const counted = new Map(stats.sources.map((count) => [count.source, count]));
  return [...new Set([...wanted, ...counted.keys()])].map((source) => {
    const { files = 0, chunks = 0, bytes = 0, chunkBytes = 0 } = counted.get(source) ?? {};
    const looked = sources.get(source);
    return {
      source,
      files,
      chunks,
      bytes,
      chunkBytes,
      eligible: looked?.eligible ?? null,
      issues: looked?.issues,
      waiting: looked?.waiting,
    };
  });
}

function vectorState(
  chunks: number,
  embedding: ReturnType<Embedder["facts"]> | undefined,
): "empty" | "complete" | "incomplete" | "unverified" {
  if (!embedding) return "empty";
  if (embedding.missing === undefined) return "unverified";
  if (embedding.missing > 0) return "incomplete";
  return chunks === 0 || embedding.embedded === 0 ? "empty" : "complete";
}

function generationOf(
  { id, builtAt, next }: GenerationFacts,
  { sources, waitingFor }: IndexFacts,
): NonNullable<MemoryProviderStatus["generation"]> {
  const eligible = [...sources.values()].reduce((sum, source) => sum + source.eligible, 0);
  return {
    id,
    builtAt: builtAt === undefined ? undefined : new Date(builtAt).toISOString(),
    next: next && {
      id: next.id,
      startedAt: new Date(next.startedAt).toISOString(),
      files: next.files,
      totalFiles: sources.size > 0 ? eligible : undefined,
      waitingFor,
    },
  };
}

const nothingIndexed = async (): Promise<StoredFiles> => new Map();

function allExcluded(sources: ReadonlyMap<MemorySource, Excluded>): ExcludedNotes {
  const everything: SourceScope = () => undefined;
  return excludedIn(everything, [...sources.keys()], sources) ?? { count: 0, notes: [], byConfiguration: 0 };
}

/** Excluded notes without a sync. Opens each file and changes nothing. */
export async function findExcluded(
  sources: readonly IndexedSource[],
  stored: StoredFiles,
  signal: AbortSignal,
): Promise<Pick<MemorySurvey, "excluded" | "notes">> {
  const found = new Map<MemorySource, Excluded>();
  const slices = createTimeSlices(signal);
  let notes = 0;
  for (const source of sources) {
    const { files, failed, excluded, accepted } = await source.scan(signal, nothingIndexed);
    const unread = new Map([...failed, ...excluded].map((note) => [note.path, note]));
    notes += files.length;
    for (const { path, absolutePath } of files) {
      if (slices.isOver()) await slices.pause();
      const record = stored.get(source.source)?.get(path);
      try {
        closeSync(openSync(absolutePath, openForReading));
        const skipped = record && recordedState(record).skipped;
        if (skipped !== undefined) unread.set(path, { path, ...storedSentence(skipped) });
      } catch (error) {
        if (codeOf(error) !== "ENOENT") unread.set(path, { path, ...readFailure(error) });
      }
    }
    found.set(source.source, { excluded: [...unread.values()], accepted: [...accepted], unreadPlaces: [] });
  }
  return { excluded: allExcluded(found), notes };
}
