import type { ConfigKey } from "./config-key.ts";

type Extra = Pick<ConfigKey, "choices" | "harmless" | "secret" | "address" | "common">;
type Range = readonly [minimum: number, maximum: number];

/** The rows of `agents.defaults.memorySearch`; an agent's own `memorySearch` has the same ones. */
export const memorySearchKeys: readonly ConfigKey[] = [
  row("enabled", "boolean", true, "Whether the agent has memory at all.", { common: true }),
  row(
    "provider",
    "string",
    "auto",
    "What makes vectors: `auto`, `none` (words only), or the id of an embedding provider.",
    { common: true },
  ),
  row("model", "string", undefined, "The embedding model; each provider has its own default."),
  row("fallback", "string", "none", "The embedding provider to use when the first one cannot be used."),
  row("inputType", "string", undefined, "The input type sent with every embedding request."),
  row("queryInputType", "string", undefined, "The input type sent with the embedding of a query."),
  row("documentInputType", "string", undefined, "The input type sent with the embedding of notes."),
  integer(
    "outputDimensionality",
    undefined,
    [1, 16_384],
    "How long vectors are to be, where the model lets one choose.",
  ),
  row(
    "sources",
    "strings",
    ["memory"],
    "What is indexed and searched: `memory` (the notes) and, where it is named, `sessions` (the transcripts). `journal` (what conversations have dropped) comes by itself wherever the flush is enabled. Also `claude-code`, `codex`, `gemini`, `opencode` and `cursor`: what these programs keep of their conversations, see `memslot sources`.",
    { common: true },
  ),
  row(
    "clients.scope",
    "choice",
    "project",
    "Which conversations of other programs are found: `project` (those of the project that is asked from) or `all`.",
    { choices: ["project", "all"] },
  ),
  row(
    "clients.keep",
    "boolean",
    false,
    "Keep a copy of what was said with other programs in the state folder, so that it is found after they have deleted it.",
  ),
  row("extraPaths", "extraPaths", [], "More Markdown files or folders, each a path or { path, pattern }.", {
    common: true,
  }),
  row(
    "exclude",
    "globs",
    [],
    "Notes that are not searched, as globs: `archive/**`, or a name such as `big.md` in any folder. They are counted, and no longer reported as a problem.",
  ),
  row(
    "notes",
    "choice",
    "auto",
    "Which Markdown files of the workspace are memory: `agent` (MEMORY.md, USER.md and memory/), `all` (every one below it that .gitignore does not leave out), or `auto`: `all` where neither MEMORY.md nor memory/ is there.",
    { choices: ["auto", "agent", "all"], common: true },
  ),
  row(
    "workspaceId",
    "string",
    undefined,
    "Names the workspace in a bucket or another place that machines share: workspaces of one agent with the same id share one index. The agent's own workspace has `own`; any other one has none, and an index named for its path.",
  ),
  row(
    "experimental.sessionMemory",
    "boolean",
    false,
    "Asked for elsewhere besides `sources`. Here naming `sessions` there is enough, and this alone has no effect.",
  ),

  row("remote.baseUrl", "url", undefined, "The address of the embedding provider."),
  row("remote.apiKey", "string", undefined, "The key of the embedding provider. Best written as `${NAME}`.", {
    secret: true,
  }),
  row("remote.headers", "map", {}, "More headers for embedding requests.", { secret: true }),
  row(
    "remote.encodingFormat",
    "choice",
    "auto",
    "How the `openai` provider asks for vectors: `base64`, `float`, `none` (the field is not sent), or `auto`: what the server accepts.",
    { choices: ["auto", "base64", "float", "none"] },
  ),
  integer("remote.nonBatchConcurrency", 4, [1, 64], "Embedding requests at one time."),
  row("remote.batch.enabled", "boolean", false, "Use the provider's batch interface for many notes at once."),
  row("remote.batch.wait", "boolean", true, "Wait for a batch to finish before the sync ends."),
  integer("remote.batch.concurrency", 2, [1, 64], "Batches in flight at one time."),
  integer("remote.batch.pollIntervalMs", 2000, [1, 3_600_000], "Milliseconds between two looks at a batch."),
  number("remote.batch.timeoutMinutes", 60, [0.001, 10_080], "Minutes after which a batch is given up."),

  row("local.modelPath", "path", undefined, "The GGUF file of a local embedding model, or its address.", {
    address: true,
  }),
  row("local.modelCacheDir", "path", undefined, "Where downloaded models are kept."),

  row(
    "store.path",
    "path",
    "{stateDir}/memory/{agentId}.sqlite",
    "The index file, and for a backend that keeps its chunks elsewhere the ledger; `{agentId}` is replaced.",
  ),
  row(
    "store.vector.enabled",
    "boolean",
    true,
    "Compare vectors with what is fast; `false`: one by one, in JavaScript.",
  ),
  row(
    "store.vector.engine",
    "choice",
    "auto",
    "What compares vectors: `wasm` (WebAssembly), `sqlite-vec`, or `exact` (JavaScript). One that does not load gives way to the next; `auto` begins with the first.",
    { choices: ["auto", "wasm", "sqlite-vec", "exact"] },
  ),
  row("store.vector.extensionPath", "path", undefined, "Another build of sqlite-vec."),
  integer(
    "store.vector.memoryMB",
    1024,
    [1, 4000],
    "Mebibytes of memory for codes of vectors at most, one byte for each number of a vector.",
  ),

  integer("chunking.tokens", 400, [50, 8000], "Tokens of a chunk."),
  integer(
    "chunking.overlap",
    80,
    [0, 7999],
    "Tokens that a chunk repeats of the one before it; less than `chunking.tokens`.",
  ),

  row("sync.onSessionStart", "boolean", true, "Bring the index up to date when a session starts."),
  row(
    "sync.onSearch",
    "boolean",
    true,
    "Bring the index up to date before a search when files have changed; `sweep`: and look at all of them for that, whatever a watcher tells. Where it is false, answers are of the files as they were at the last sync, and do not say so.",
    { choices: ["sweep"], common: true },
  ),
  row("sync.watch", "boolean", true, "Watch the files while an agent runs, and index what changes."),
  integer("sync.watchDebounceMs", 1500, [0, 600_000], "Milliseconds of quiet after a change before it is indexed."),
  integer(
    "sync.watchMaxFiles",
    30_000,
    [1, 10_000_000],
    "Files and folders to watch: where there are more, watching is off, and searches look at the files themselves.",
  ),
  number(
    "sync.intervalMinutes",
    0,
    [0, 10_080],
    "Minutes between two syncs while an agent runs; 0 means none by the clock.",
  ),
  integer(
    "sync.embeddingBatchTimeoutSeconds",
    undefined,
    [1, 3600],
    "Seconds that one request for vectors of notes may take: 60 where it is not set, and 600 for a model file of this machine.",
  ),
  integer(
    "sync.sessions.deltaBytes",
    100_000,
    [0, 1_000_000_000],
    "Bytes that a transcript grows by before it is indexed again by itself; 0 means with every change.",
  ),
  integer(
    "sync.sessions.deltaMessages",
    50,
    [0, 1_000_000],
    "Messages that a transcript grows by before it is indexed again by itself; 0 means with every change.",
  ),
  row(
    "sync.sessions.postCompactionForce",
    "boolean",
    true,
    "Index a transcript after its conversation was compacted, however little of it is new.",
  ),

  // `query.hybrid.enabled` decides whether anything is sent to a provider, so it is not harmless.
  integer(
    "query.maxResults",
    undefined,
    [1, 200],
    "Results of a search: where it is not set, 6 for the library, and for tools and the command as many as fit `query.maxTokens`, 12 at most.",
    { harmless: true },
  ),
  integer(
    "query.maxTokens",
    1000,
    [100, 4000],
    "Tokens of note text in one answer, all results together; of more than six results that the library is asked for, a sixth for each, 4000 at most.",
    {
      common: true,
      harmless: true,
    },
  ),
  number("query.minScore", 0.35, [0, 1], "The score that a result found by meaning alone needs.", {
    common: true,
    harmless: true,
  }),
  row("query.hybrid.enabled", "boolean", true, "Search by words and by meaning together."),
  number(
    "query.hybrid.vectorWeight",
    0.7,
    [0, 100],
    "How much meaning counts, against `textWeight`; in this ratio it counts as was measured.",
    {
      harmless: true,
    },
  ),
  number(
    "query.hybrid.textWeight",
    0.3,
    [0, 100],
    "How much words count, against `vectorWeight`; 0 of one leaves the order to the other.",
    { harmless: true },
  ),
  number("query.hybrid.candidateMultiplier", 4, [1, 20], "Candidates for each result; there are never more than 200.", {
    harmless: true,
  }),

  row(
    "query.rerank.provider",
    "string",
    "none",
    "What puts the best results into a new order: `none`, or the id of a rerank plugin (`rerank-http`, `rerank-local`). Question and passages go to it.",
  ),
  row("query.rerank.model", "string", undefined, "The model that reranks, as its server calls it."),
  row("query.rerank.baseUrl", "url", undefined, "The address below which `/rerank` is."),
  row("query.rerank.apiKey", "string", undefined, "The key for this address. Best written as `${NAME}`.", {
    secret: true,
  }),
  row("query.rerank.modelPath", "path", undefined, "The GGUF file of a local reranker, or its address.", {
    address: true,
  }),
  integer("query.rerank.candidates", 30, [2, 30], "Passages that the reranker is given."),
  integer(
    "query.rerank.timeoutMs",
    1500,
    [50, 10_000],
    "Milliseconds that a search waits for the reranker; after them the order stays as it was, and the answer says so.",
  ),

  integer(
    "budget.tokensPerDay",
    undefined,
    [0, 1_000_000_000_000],
    "Tokens that embedding this agent's notes may cost in one day; words are searched all the same.",
  ),

  row("cache.enabled", "boolean", true, "Keep vectors, so that an unchanged text is never sent twice."),
  integer("cache.maxEntries", 50_000, [1, 100_000_000], "Vectors to keep; those in use are never dropped."),
];

function row(name: string, type: ConfigKey["type"], standard: unknown, doc: string, extra: Extra = {}): ConfigKey {
  return { key: `agents.defaults.memorySearch.${name}`, type, default: standard, doc, ...extra };
}

function integer(name: string, standard: number | undefined, range: Range, doc: string, extra: Extra = {}): ConfigKey {
  return { ...row(name, "integer", standard, doc, extra), range };
}

function number(name: string, standard: number, range: Range, doc: string, extra: Extra = {}): ConfigKey {
  return { ...row(name, "number", standard, doc, extra), range };
}
