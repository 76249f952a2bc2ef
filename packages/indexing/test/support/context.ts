import type {
  EmbeddingProvider,
  ManagerSearchOptions,
  ManagerSyncParams,
  MemoryPluginContext,
  MemorySearchSettings,
  SearchReport,
} from "@memslot/core";

export const never: AbortSignal = new AbortController().signal;

/** The settings of an agent with every default, and what a test changes. */
export function settingsWith(
  change: {
    extraPaths?: MemorySearchSettings["extraPaths"];
    notes?: MemorySearchSettings["notes"];
    chunking?: MemorySearchSettings["chunking"];
    onSearch?: boolean;
    sources?: MemorySearchSettings["sources"];
    clients?: MemorySearchSettings["clients"];
    sync?: Partial<MemorySearchSettings["sync"]>;
    hybrid?: Partial<MemorySearchSettings["query"]["hybrid"]>;
  } = {},
): MemorySearchSettings {
  return {
    enabled: true,
    provider: "auto",
    model: undefined,
    fallback: "none",
    inputType: undefined,
    queryInputType: undefined,
    documentInputType: undefined,
    outputDimensionality: undefined,
    sources: change.sources ?? ["memory"],
    extraPaths: change.extraPaths ?? [],
    notes: change.notes ?? "auto",
    experimental: { sessionMemory: false },
    clients: change.clients ?? { scope: "project", keep: false, folders: {} },
    remote: {
      baseUrl: undefined,
      apiKey: undefined,
      headers: {},
      nonBatchConcurrency: 4,
      batch: { enabled: false, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 },
    },
    local: { modelPath: undefined, modelCacheDir: undefined },
    store: {
      path: "/nowhere/main.sqlite",
      vector: { enabled: true, engine: "auto", extensionPath: undefined, memoryMB: 1024 },
    },
    chunking: change.chunking ?? { tokens: 400, overlap: 80 },
    sync: {
      onSessionStart: true,
      onSearch: change.onSearch ?? true,
      watch: false,
      watchDebounceMs: 1500,
      watchMaxFiles: 30_000,
      embeddingBatchTimeoutSeconds: undefined,
      intervalMinutes: 0,
      sessions: { deltaBytes: 100_000, deltaMessages: 50, postCompactionForce: true },
      ...change.sync,
    },
    query: {
      maxResults: 6,
      maxTokens: 1000,
      minScore: 0.35,
      hybrid: { enabled: true, vectorWeight: 0.7, textWeight: 0.3, candidateMultiplier: 4, ...change.hybrid },
      rerank: {
        provider: "none",
        model: undefined,
        baseUrl: undefined,
        apiKey: undefined,
        modelPath: undefined,
        candidates: 30,
        timeoutMs: 1500,
      },
    },
    budget: { tokensPerDay: undefined },
    cache: { enabled: true, maxEntries: 50_000 },
  };
}

export function syncParams(change: Partial<ManagerSyncParams> = {}): ManagerSyncParams {
  return { reason: "test", force: false, wait: true, progress: () => undefined, signal: never, ...change };
}

/** The options of a search, with a place where its reports are put. */
export function searchOptions(
  change: Partial<ManagerSearchOptions> = {},
): ManagerSearchOptions & { reports: SearchReport[] } {
  const reports: SearchReport[] = [];
  return {
    maxResults: 6,
    maxTokens: 1000,
    minScore: 0.35,
    strict: false,
    sources: ["memory"],
    sessionKey: undefined,
    audience: "private",
    signal: never,
    onDebug: (report) => void reports.push(report),
    reports,
    ...change,
  };
}

export function contextFor(
  workspaceDir: string,
  change: {
    settings?: MemorySearchSettings;
    provider?: EmbeddingProvider;
    degraded?: boolean;
    notify?: (line: string) => void;
  } = {},
): MemoryPluginContext {
  return {
    agentId: "main",
    workspaceDir,
    stateDir: workspaceDir,
    storePlace: { folder: `${workspaceDir}/memory/test/main`, name: "main" },
    settings: change.settings ?? settingsWith(),
    options: {},
    embeddings: {
      provider: change.provider,
      requested: "auto",
      reason: change.provider ? "asked for by the test" : "no embedding provider is configured",
      degraded: change.degraded ?? false,
    },
    notify: change.notify ?? (() => undefined),
    signal: never,
  };
}
