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
      /** The folder that holds MEMORY.md, USER.md and memory/. */
      readonly workspace: string;
      /** The user's time zone, such as `Europe/Amsterdam`: it decides which day a daily log is for. Without it, the machine's. */
      readonly userTimezone: string | undefined;
      readonly memorySearch: {
        /** Whether the agent has memory at all. */
        readonly enabled: boolean;
        /** What makes vectors: `auto`, `none` (words only), or the id of an embedding provider. */
        readonly provider: string;
        /** The embedding model; each provider has its own default. */
        readonly model: string | undefined;
        /** The embedding provider to use when the first one cannot be used. */
        readonly fallback: string;
        /** The input type sent with every embedding request. */
        readonly inputType: string | undefined;
        /** The input type sent with the embedding of a query. */
        readonly queryInputType: string | undefined;
        /** The input type sent with the embedding of notes. */
        readonly documentInputType: string | undefined;
        /** How long vectors are to be, where the model lets one choose. */
        readonly outputDimensionality: number | undefined;
        /** What is indexed and searched: `memory` (the notes) and, where it is named, `sessions` (the transcripts). `journal` (what conversations have dropped) comes by itself wherever the flush is enabled. Also `claude-code`, `codex`, `gemini`, `opencode` and `cursor`: what these programs keep of their conversations, see `memslot sources`. */
        readonly sources: readonly string[];
        readonly clients: {
          /** Which conversations of other programs are found: `project` (those of the project that is asked from) or `all`. */
          readonly scope: "project" | "all";
          /** Keep a copy of what was said with other programs in the state folder, so that it is found after they have deleted it. */
          readonly keep: boolean;
        };
        /** More Markdown files or folders, each a path or { path, pattern }. */
        readonly extraPaths: readonly (string | ExtraPath)[];
        /** Notes that are not searched, as globs: `archive/**`, or a name such as `big.md` in any folder. They are counted, and no longer reported as a problem. */
        readonly exclude: readonly string[];
        /** Which Markdown files of the workspace are memory: `agent` (MEMORY.md, USER.md and memory/), `all` (every one below it that .gitignore does not leave out), or `auto`: `all` where neither MEMORY.md nor memory/ is there. */
        readonly notes: "auto" | "agent" | "all";
        /** Names the workspace in a bucket or another place that machines share: workspaces of one agent with the same id share one index. The agent's own workspace has `own`; any other one has none, and an index named for its path. */
        readonly workspaceId: string | undefined;
        readonly experimental: {
          /** Asked for elsewhere besides `sources`. Here naming `sessions` there is enough, and this alone has no effect. */
          readonly sessionMemory: boolean;
        };
        readonly remote: {
          /** The address of the embedding provider. */
          readonly baseUrl: string | undefined;
          /** The key of the embedding provider. Best written as `${NAME}`. */
          readonly apiKey: string | undefined;
          /** More headers for embedding requests. */
          readonly headers: Readonly<Record<string, string>>;
          /** How the `openai` provider asks for vectors: `base64`, `float`, `none` (the field is not sent), or `auto`: what the server accepts. */
          readonly encodingFormat: "auto" | "base64" | "float" | "none";
          /** Embedding requests at one time. */
          readonly nonBatchConcurrency: number;
          readonly batch: {
            /** Use the provider's batch interface for many notes at once. */
            readonly enabled: boolean;
            /** Wait for a batch to finish before the sync ends. */
            readonly wait: boolean;
            /** Batches in flight at one time. */
            readonly concurrency: number;
            /** Milliseconds between two looks at a batch. */
            readonly pollIntervalMs: number;
            /** Minutes after which a batch is given up. */
            readonly timeoutMinutes: number;
          };
        };
        readonly local: {
          /** The GGUF file of a local embedding model, or its address. */
          readonly modelPath: string | undefined;
          /** Where downloaded models are kept. */
          readonly modelCacheDir: string | undefined;
        };
        readonly store: {
          /** The index file, and for a backend that keeps its chunks elsewhere the ledger; `{agentId}` is replaced. */
          readonly path: string;
          readonly vector: {
            /** Compare vectors with what is fast; `false`: one by one, in JavaScript. */
            readonly enabled: boolean;
            /** What compares vectors: `wasm` (WebAssembly), `sqlite-vec`, or `exact` (JavaScript). One that does not load gives way to the next; `auto` begins with the first. */
            readonly engine: "auto" | "wasm" | "sqlite-vec" | "exact";
            /** Another build of sqlite-vec. */
            readonly extensionPath: string | undefined;
            /** Mebibytes of memory for codes of vectors at most, one byte for each number of a vector. */
            readonly memoryMB: number;
          };
        };
        readonly chunking: {
          /** Tokens of a chunk. */
          readonly tokens: number;
          /** Tokens that a chunk repeats of the one before it; less than `chunking.tokens`. */
          readonly overlap: number;
        };
        readonly sync: {
          /** Bring the index up to date when a session starts. */
          readonly onSessionStart: boolean;
          /** Bring the index up to date before a search when files have changed; `sweep`: and look at all of them for that, whatever a watcher tells. Where it is false, answers are of the files as they were at the last sync, and do not say so. */
          readonly onSearch: boolean | "sweep";
          /** Watch the files while an agent runs, and index what changes. */
          readonly watch: boolean;
          /** Milliseconds of quiet after a change before it is indexed. */
          readonly watchDebounceMs: number;
          /** Files and folders to watch: where there are more, watching is off, and searches look at the files themselves. */
          readonly watchMaxFiles: number;
          /** Minutes between two syncs while an agent runs; 0 means none by the clock. */
          readonly intervalMinutes: number;
          /** Seconds that one request for vectors of notes may take: 60 where it is not set, and 600 for a model file of this machine. */
          readonly embeddingBatchTimeoutSeconds: number | undefined;
          readonly sessions: {
            /** Bytes that a transcript grows by before it is indexed again by itself; 0 means with every change. */
            readonly deltaBytes: number;
            /** Messages that a transcript grows by before it is indexed again by itself; 0 means with every change. */
            readonly deltaMessages: number;
            /** Index a transcript after its conversation was compacted, however little of it is new. */
            readonly postCompactionForce: boolean;
          };
        };
        readonly query: {
          /** Results of a search: where it is not set, 6 for the library, and for tools and the command as many as fit `query.maxTokens`, 12 at most. */
          readonly maxResults: number | undefined;
          /** Tokens of note text in one answer, all results together; of more than six results that the library is asked for, a sixth for each, 4000 at most. */
          readonly maxTokens: number;
          /** The score that a result found by meaning alone needs. */
          readonly minScore: number;
          readonly hybrid: {
            /** Search by words and by meaning together. */
            readonly enabled: boolean;
            /** How much meaning counts, against `textWeight`; in this ratio it counts as was measured. */
            readonly vectorWeight: number;
            /** How much words count, against `vectorWeight`; 0 of one leaves the order to the other. */
            readonly textWeight: number;
            /** Candidates for each result; there are never more than 200. */
            readonly candidateMultiplier: number;
          };
          readonly rerank: {
            /** What puts the best results into a new order: `none`, or the id of a rerank plugin (`rerank-http`, `rerank-local`). Question and passages go to it. */
            readonly provider: string;
            /** The model that reranks, as its server calls it. */
            readonly model: string | undefined;
            /** The address below which `/rerank` is. */
            readonly baseUrl: string | undefined;
            /** The key for this address. Best written as `${NAME}`. */
            readonly apiKey: string | undefined;
            /** The GGUF file of a local reranker, or its address. */
            readonly modelPath: string | undefined;
            /** Passages that the reranker is given. */
            readonly candidates: number;
            /** Milliseconds that a search waits for the reranker; after them the order stays as it was, and the answer says so. */
            readonly timeoutMs: number;
          };
        };
        readonly budget: {
          /** Tokens that embedding this agent's notes may cost in one day; words are searched all the same. */
          readonly tokensPerDay: number | undefined;
        };
        readonly cache: {
          /** Keep vectors, so that an unchanged text is never sent twice. */
          readonly enabled: boolean;
          /** Vectors to keep; those in use are never dropped. */
          readonly maxEntries: number;
        };
      };
      readonly compaction: {
        /** Tokens of the context window that compaction keeps free. */
        readonly reserveTokensFloor: number;
        readonly memoryFlush: {
          /** Save what would be lost before a conversation is compacted. */
          readonly enabled: boolean;
          /** How many tokens before the compaction point the flush runs. */
          readonly softThresholdTokens: number;
          /** The flush also runs once a transcript has grown by so many bytes since the last compaction; 0: never for that. */
          readonly forceFlushTranscriptBytes: number;
          /** For how many days the journal of dropped messages waits for a model. Older ones go once an indexed transcript holds them, and no sooner. */
          readonly journalDays: number;
          /** The request of the flush turn, in place of the built-in one. */
          readonly prompt: string | undefined;
          /** The system text of the flush turn, in place of the built-in one. */
          readonly systemPrompt: string | undefined;
        };
      };
    };
  };
  readonly memory: {
    /** Older way to choose the memory plugin: `builtin` is memory-core, `qmd` is memory-qmd. `plugins.slots.memory` wins. */
    readonly backend: "builtin" | "qmd";
    /** Whether results carry `path#L3-L9`: `auto` means in direct chats with the owner and on the command line. */
    readonly citations: "auto" | "on" | "off";
    /** Whether agents may change notes (`memory_edit`, `memory_forget`) or only add to them. Left out: `append` for MCP, `edit` for the demo agent. */
    readonly write: "append" | "edit" | undefined;
    /** What happens when a model writes a key or a password into a note. `refuse`: the tool refuses what is certainly one and masks the rest. `mask`: a mark takes its place. `keep`: it is written. */
    readonly secrets: "refuse" | "mask" | "keep";
    /** Options of memory-qmd; `plugins.entries.memory-qmd.config` is laid over them. */
    readonly qmd: Readonly<Record<string, unknown>> | undefined;
  };
  readonly commands: {
    /** Who the owner is in a chat of two: ids of peers as the channel has them, with or without the channel before them (`telegram:123456789`). A direct chat with anybody else is answered as a group is. */
    readonly ownerAllowFrom: readonly string[];
  };
  readonly plugins: {
    /** False switches every plugin off, and memory with it. */
    readonly enabled: boolean;
    readonly slots: {
      /** The one memory plugin in use: an id, a package name, or `none` for no memory. */
      readonly memory: string;
    };
    readonly entries: Readonly<
      Record<
        string,
        {
          /** False keeps this plugin from being used, whatever the slot says. */
          readonly enabled?: boolean | undefined;
          /** Options of this plugin, checked against the schema that it brings. */
          readonly config?: Readonly<Record<string, unknown>> | undefined;
          /** What answers while this memory plugin is unavailable: `builtin` (memory-core), `keyword` (memory-core without any embedding request), the id of another memory plugin, or `none`. A plugin may have a default of its own: memory-qmd has `memory.qmd.fallback`. */
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
          /** The key of this embedding provider. Best written as `${NAME}`, so that it stays in the environment. */
          readonly apiKey?: string | undefined;
          /** The address of this embedding provider. */
          readonly baseUrl?: string | undefined;
        }
      >
    >;
  };
}
