// Made of packages/core/src/config/keys.json by `pnpm generate`.

/** A folder or file outside the usual places; `pattern` is a glob relative to it. */
export interface ExtraPath {
  readonly path: string;
  readonly pattern?: string | undefined;
}

/** Every value of the configuration that holds for all agents, defaults filled in. */
export interface ConfigValues {
  readonly agents: {
    readonly defaults: {
      /** Folder with MEMORY.md, USER.md and memory/. */
      readonly workspace: string;
      /** The user's time zone, such as `Europe/Amsterdam`. It decides the day of a daily log. Default: the machine's. */
      readonly userTimezone: string | undefined;
      readonly memorySearch: {
        /** Enables memory for the agent. */
        readonly enabled: boolean;
        /** Embedding provider: `auto`, `none` (keyword search only), or the id of a provider. */
        readonly provider: string;
        /** Embedding model. Each provider has its own default. */
        readonly model: string | undefined;
        /** Embedding provider that replaces the first one if that cannot be used. */
        readonly fallback: string;
        /** Input type of every embedding request. */
        readonly inputType: string | undefined;
        /** Input type of query embeddings. */
        readonly queryInputType: string | undefined;
        /** Input type of note embeddings. */
        readonly documentInputType: string | undefined;
        /** Vector length, for models that let you choose it. */
        readonly outputDimensionality: number | undefined;
        /** Sources to index and search: `memory` (the notes), `sessions` (transcripts), and conversations of other programs (`claude-code`, `codex`, `gemini`, `opencode`, `copilot`, `qwen`, `cursor`; see `memslot sources`). `journal` (messages dropped from conversations) is added if the flush is enabled. */
        readonly sources: readonly string[];
        readonly clients: {
          /** Which conversations of other programs are found: those of the current `project`, or `all`. */
          readonly scope: "project" | "all";
          /** Keep a copy of conversations of other programs in the state folder, so that they are found after the program has deleted them. */
          readonly keep: boolean;
        };
        /** More Markdown files or folders, each a path or { path, pattern }. */
        readonly extraPaths: readonly (string | ExtraPath)[];
        /** Notes to skip, as globs: `archive/**`, or a name such as `big.md` in any folder. They are counted, and not reported as a problem. */
        readonly exclude: readonly string[];
        /** Which Markdown files of the workspace are memory: `agent` (MEMORY.md, USER.md and memory/), `all` (every file that .gitignore does not exclude), or `auto`: `all` if neither MEMORY.md nor memory/ exists. */
        readonly notes: "auto" | "agent" | "all";
        /** Name of the workspace in a bucket or another place that machines share. Workspaces of one agent with the same id share an index. Default: `own` for the agent's own workspace; any other index is named for its path. */
        readonly workspaceId: string | undefined;
        readonly experimental: {
          /** Accepted and ignored. Name `sessions` in `sources` instead. */
          readonly sessionMemory: boolean;
        };
        readonly remote: {
          /** Address of the embedding provider. */
          readonly baseUrl: string | undefined;
          /** API key of the embedding provider. Write it as `${NAME}`. */
          readonly apiKey: string | undefined;
          /** Additional headers of embedding requests. */
          readonly headers: Readonly<Record<string, string>>;
          /** Vector format that the `openai` provider requests: `base64`, `float`, `none` (omit the field), or `auto`: what the server accepts. */
          readonly encodingFormat: "auto" | "base64" | "float" | "none";
          /** Concurrent embedding requests. */
          readonly nonBatchConcurrency: number;
          readonly batch: {
            /** Use the provider's batch API for many notes. */
            readonly enabled: boolean;
            /** Wait for a batch before the sync ends. */
            readonly wait: boolean;
            /** Concurrent batches. */
            readonly concurrency: number;
            /** Milliseconds between two polls of a batch. */
            readonly pollIntervalMs: number;
            /** Minutes after which a batch is abandoned. */
            readonly timeoutMinutes: number;
          };
        };
        readonly local: {
          /** GGUF file of a local embedding model, or its address. */
          readonly modelPath: string | undefined;
          /** Folder of downloaded models. */
          readonly modelCacheDir: string | undefined;
        };
        readonly store: {
          /** Index file. For a backend that keeps its chunks elsewhere: the ledger. `{agentId}` is replaced. */
          readonly path: string;
          readonly vector: {
            /** Use the accelerated vector index; `false` falls back to a linear scan in JavaScript. */
            readonly enabled: boolean;
            /** Vector engine: `wasm` (WebAssembly), `sqlite-vec` or `exact` (JavaScript). If one does not load, the next is used; `auto` starts with `wasm`. */
            readonly engine: "auto" | "wasm" | "sqlite-vec" | "exact";
            /** Another build of sqlite-vec. */
            readonly extensionPath: string | undefined;
            /** Memory limit in MiB for vector codes (one byte per dimension). */
            readonly memoryMB: number;
          };
        };
        readonly chunking: {
          /** Tokens per chunk. */
          readonly tokens: number;
          /** Tokens that a chunk repeats of the previous one; less than `chunking.tokens`. */
          readonly overlap: number;
        };
        readonly sync: {
          /** Update the index when a session starts. */
          readonly onSessionStart: boolean;
          /** Update the index before a search if files have changed. `sweep` scans all files each time, without the file watcher. With `false`, answers reflect the last sync and do not report changes. */
          readonly onSearch: boolean | "sweep";
          /** Watch the files while an agent runs, and index changes. */
          readonly watch: boolean;
          /** Milliseconds without a change before changes are indexed. */
          readonly watchDebounceMs: number;
          /** Maximum number of watched files and folders. Above it, watching is off, and searches scan the files. */
          readonly watchMaxFiles: number;
          /** Minutes between two syncs while an agent runs; 0: no interval. */
          readonly intervalMinutes: number;
          /** Timeout of an embedding request for notes, in seconds. Default: 60, and 600 for a local model file. */
          readonly embeddingBatchTimeoutSeconds: number | undefined;
          readonly sessions: {
            /** Growth of a transcript in bytes after which it is indexed automatically; 0: every change. */
            readonly deltaBytes: number;
            /** Growth of a transcript in messages after which it is indexed automatically; 0: every change. */
            readonly deltaMessages: number;
            /** Index a transcript after its conversation was compacted, however little has changed. */
            readonly postCompactionForce: boolean;
          };
        };
        readonly query: {
          /** Maximum number of results. Default: 6 in the library; for tools and the command as many as fit `query.maxTokens`, at most 12. */
          readonly maxResults: number | undefined;
          /** Token budget for the text of one answer. If the library asks for more than six results, each adds a sixth, up to 4000. */
          readonly maxTokens: number;
          /** Minimum score for results found only by vector search. */
          readonly minScore: number;
          readonly hybrid: {
            /** Combine keyword and vector search. */
            readonly enabled: boolean;
            /** Weight of vector search relative to `textWeight`. At 0.7 to 0.3 the measured semantic weight applies unchanged. */
            readonly vectorWeight: number;
            /** Weight of keyword search relative to `vectorWeight`. If one of them is 0, the other alone decides the order. */
            readonly textWeight: number;
            /** Candidates per result, at most 200 in all. */
            readonly candidateMultiplier: number;
          };
          readonly rerank: {
            /** Reranker: `none`, or the id of a rerank plugin (`rerank-http`, `rerank-local`). It receives the query and passages. */
            readonly provider: string;
            /** Model name on the rerank server. */
            readonly model: string | undefined;
            /** Address of the rerank server, without `/rerank`. */
            readonly baseUrl: string | undefined;
            /** API key for this address. Write it as `${NAME}`. */
            readonly apiKey: string | undefined;
            /** GGUF file of a local reranker, or its address. */
            readonly modelPath: string | undefined;
            /** Passages sent to the reranker. */
            readonly candidates: number;
            /** Milliseconds to wait for the reranker. After them the order stays unchanged, and the answer reports it. */
            readonly timeoutMs: number;
          };
        };
        readonly budget: {
          /** Daily token budget for embedding the agent's notes. Keyword search is not affected. */
          readonly tokensPerDay: number | undefined;
        };
        readonly cache: {
          /** Cache vectors, so that an unchanged text is never sent twice. */
          readonly enabled: boolean;
          /** Maximum number of cached vectors. Vectors in use are never dropped. */
          readonly maxEntries: number;
        };
      };
      readonly compaction: {
        /** Tokens of the context window that compaction keeps free. */
        readonly reserveTokensFloor: number;
        readonly memoryFlush: {
          /** Save messages before a conversation is compacted. */
          readonly enabled: boolean;
          /** How many tokens before the compaction point the flush runs. */
          readonly softThresholdTokens: number;
          /** Transcript growth since the last compaction, in bytes, that also starts a flush; 0: never. */
          readonly forceFlushTranscriptBytes: number;
          /** Days that dropped messages wait for a model. Older ones are deleted only once an indexed transcript contains them. */
          readonly journalDays: number;
          /** Request of the flush turn; replaces the built-in one. */
          readonly prompt: string | undefined;
          /** System prompt of the flush turn; replaces the built-in one. */
          readonly systemPrompt: string | undefined;
        };
      };
    };
  };
  readonly memory: {
    /** Older way to select the memory plugin: `builtin` is memory-core, `qmd` is memory-qmd. `plugins.slots.memory` takes precedence. */
    readonly backend: "builtin" | "qmd";
    /** Whether results carry `path#L3-L9`. `auto`: in direct chats with the owner and on the command line. */
    readonly citations: "auto" | "on" | "off";
    /** Whether agents can change notes (`edit`: `memory_edit`, `memory_forget`) or only add to them (`append`). Default: `append` for MCP, `edit` for the demo agent. */
    readonly write: "append" | "edit" | undefined;
    /** What happens if a model writes a key or password into a note. `refuse`: the tool rejects certain secrets and masks likely ones. `mask`: both are masked. `keep`: the text is written unchanged. */
    readonly secrets: "refuse" | "mask" | "keep";
    /** Options of memory-qmd. `plugins.entries.memory-qmd.config` takes precedence. */
    readonly qmd: Readonly<Record<string, unknown>> | undefined;
  };
  readonly commands: {
    /** Peers of direct chats that are the owner: peer ids, with or without the channel (`telegram:123456789`). A direct chat with any other peer is treated as a group. */
    readonly ownerAllowFrom: readonly string[];
  };
  readonly plugins: {
    /** False disables all plugins, and memory with them. */
    readonly enabled: boolean;
    readonly slots: {
      /** The active memory plugin: an id, a package name, or `none` for no memory. */
      readonly memory: string;
    };
    readonly entries: Readonly<
      Record<
        string,
        {
          /** False disables this plugin, whatever the slot names. */
          readonly enabled?: boolean | undefined;
          /** Options of this plugin, validated against the plugin's schema. */
          readonly config?: Readonly<Record<string, unknown>> | undefined;
          /** Fallback while this memory plugin is unavailable: `builtin` (memory-core), `keyword` (memory-core without embedding requests), the id of another memory plugin, or `none`. A plugin can have its own default: memory-qmd has `memory.qmd.fallback`. */
          readonly fallback?: string | undefined;
        }
      >
    >;
    readonly load: {
      /** Plugin folders, or folders of plugin folders. */
      readonly paths: readonly string[];
    };
    /** Ids of plugins that are never used. */
    readonly deny: readonly string[];
  };
  readonly models: {
    readonly providers: Readonly<
      Record<
        string,
        {
          /** API key of this embedding provider. Write it as `${NAME}`, so that it stays in the environment. */
          readonly apiKey?: string | undefined;
          /** Address of this embedding provider. */
          readonly baseUrl?: string | undefined;
        }
      >
    >;
  };
}
