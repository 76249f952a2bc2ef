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

type SettingsChange = Partial<
  Pick<MemorySearchSettings, "extraPaths" | "notes" | "chunking" | "sources" | "clients"> & {
    onSearch: boolean;
    sync: Partial<MemorySearchSettings["sync"]>;
    hybrid: Partial<MemorySearchSettings["query"]["hybrid"]>;
  }
>;

/** The settings of an agent with every default, and what a test changes. */
export function settingsWith({ onSearch = true, sync, hybrid, ...change }: SettingsChange = {}): MemorySearchSettings {
  return {
    ...defaults,
    sources: ["memory"],
    extraPaths: [],
    notes: "auto",
    clients: { ...defaults.clients, folders: {} },
    ...change,
    sync: { ...defaults.sync, onSearch, watch: false, ...sync },
    query: { ...defaults.query, maxResults: 6, hybrid: { ...defaults.query.hybrid, ...hybrid } },
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
