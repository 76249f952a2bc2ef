import {
  type EmbeddingProvider,
  type ManagerSearchOptions,
  type ManagerSyncParams,
  type MemoryPluginContext,
  type MemorySearchSettings,
  type SearchReport,
  parseConfig,
} from "@memslot/core";

const defaults = parseConfig({}, { env: {}, baseDir: "/nowhere", stateDir: "/nowhere" }).agent("main").memorySearch;

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
    ...defaults,
    sources: change.sources ?? ["memory"],
    extraPaths: change.extraPaths ?? [],
    notes: change.notes ?? "auto",
    clients: change.clients ?? { ...defaults.clients, folders: {} },
    chunking: change.chunking ?? defaults.chunking,
    sync: { ...defaults.sync, onSearch: change.onSearch ?? true, watch: false, ...change.sync },
    query: { ...defaults.query, maxResults: 6, hybrid: { ...defaults.query.hybrid, ...change.hybrid } },
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
    storePlace: { folder: `${workspaceDir}/memory/test/main`, name: "main", sharedName: "main" },
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
