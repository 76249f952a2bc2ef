import type { ConfigKey } from "./config-key.ts";
import searchKeys from "./search-keys.json" with { type: "json" };

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

  // `query.hybrid.enabled` decides whether anything is sent to a provider, so it is not harmless.
  ...(searchKeys as ConfigKey[]),
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
