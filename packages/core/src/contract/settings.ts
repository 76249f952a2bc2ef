import type { ClientFolders } from "./client-sources.ts";

/**
 * The effective settings of one agent: `agents.defaults.memorySearch` with `agents.list[].memorySearch` laid over it
 * field by field, every default filled in, frozen. Keys are the field's.
 */
export interface MemorySearchSettings {
  readonly enabled: boolean;
  readonly provider: string;
  readonly model: string | undefined;
  readonly fallback: string;
  readonly inputType: string | undefined;
  readonly queryInputType: string | undefined;
  readonly documentInputType: string | undefined;
  readonly outputDimensionality: number | undefined;
  readonly sources: readonly string[];
  /** Of the sources that are other programs, see `clientSources`. */
  readonly clients: {
    /** `project`: what was said in the project that is asked from. */
    readonly scope: "project" | "all";
    /** Whether what these programs delete stays to be found. */
    readonly keep: boolean;
    readonly folders: ClientFolders;
  };
  readonly extraPaths: readonly (string | ExtraPath)[];
  /** Globs of notes that are not searched, relative to the workspace or to the place in `extraPaths` that holds them. */
  readonly exclude: readonly string[];
  /** What of the workspace is memory, see `notesLayout`. */
  readonly notes: "auto" | "agent" | "all";
  /** Names the workspace in a place that several machines share; undefined where its path does. */
  readonly workspaceId: string | undefined;
  readonly experimental: { readonly sessionMemory: boolean };
  readonly remote: {
    readonly baseUrl: string | undefined;
    readonly apiKey: string | undefined;
    readonly headers: Readonly<Record<string, string>>;
    /** How the `openai` provider asks for vectors; `auto`: what the server accepts. */
    readonly encodingFormat: "auto" | "base64" | "float" | "none";
    readonly nonBatchConcurrency: number;
    readonly batch: {
      readonly enabled: boolean;
      readonly wait: boolean;
      readonly concurrency: number;
      readonly pollIntervalMs: number;
      readonly timeoutMinutes: number;
    };
  };
  readonly local: { readonly modelPath: string | undefined; readonly modelCacheDir: string | undefined };
  readonly store: {
    /** An absolute path, `{agentId}` and `~` already replaced. */
    readonly path: string;
    readonly vector: {
      readonly enabled: boolean;
      readonly engine: "auto" | "wasm" | "sqlite-vec" | "exact";
      readonly extensionPath: string | undefined;
      readonly memoryMB: number;
    };
  };
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  readonly sync: {
    readonly onSessionStart: boolean;
    /** `sweep`: each search looks at all files, whatever a watcher tells. */
    readonly onSearch: boolean | "sweep";
    readonly watch: boolean;
    readonly watchDebounceMs: number;
    readonly watchMaxFiles: number;
    readonly intervalMinutes: number;
    readonly embeddingBatchTimeoutSeconds: number | undefined;
    readonly sessions: {
      readonly deltaBytes: number;
      readonly deltaMessages: number;
      readonly postCompactionForce: boolean;
    };
  };
  readonly query: {
    /** Undefined: 6 for the library, and as many as the budget holds, 12 at most, for tools and the command. */
    readonly maxResults: number | undefined;
    readonly maxTokens: number;
    readonly minScore: number;
    readonly hybrid: {
      readonly enabled: boolean;
      readonly vectorWeight: number;
      readonly textWeight: number;
      readonly candidateMultiplier: number;
    };
    readonly rerank: {
      readonly provider: string;
      readonly model: string | undefined;
      readonly baseUrl: string | undefined;
      readonly apiKey: string | undefined;
      readonly modelPath: string | undefined;
      readonly candidates: number;
      readonly timeoutMs: number;
    };
  };
  readonly budget: { readonly tokensPerDay: number | undefined };
  readonly cache: { readonly enabled: boolean; readonly maxEntries: number };
}

/** A folder or file outside the usual places; `pattern` is a glob relative to it. */
export interface ExtraPath {
  readonly path: string;
  readonly pattern?: string | undefined;
}
