import type { MemorySearchSettings, MemslotConfig } from "./config.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
import type { MemorySearchManager } from "./manager.ts";
import type { RerankChoice, Reranker } from "./reranker.ts";
import type { Sentence } from "./sentences.ts";

/** Version of the plugin contract. It changes only if existing plugins would break. */
export const CONTRACT = 1;

/** Place for the data that a plugin derives from the notes of one agent in one workspace. */
export interface StorePlace {
  /** Absolute; exclusive to this plugin, agent and workspace. May not exist yet. */
  folder: string;
  /** Stable unique name for agent and workspace: lower-case letters, digits, `-` and `_`, at most 64. */
  name: string;
  /** The same across machines that share the place: from agent and workspace id; `name` without an id. */
  sharedName: string;
}

/** What every plugin receives when it is opened. */
interface PluginContext {
  settings: MemorySearchSettings;
  /** Absolute: `MEMSLOT_HOME`, else `~/.memslot`. */
  stateDir: string;
  /** `plugins.entries.<id>.config`, checked against the plugin's `configSchema`. */
  options: Readonly<Record<string, unknown>>;
  /** Aborted if the open is given up. */
  signal: AbortSignal;
}

interface Plugin<Kind, Context, Opened> {
  readonly kind: Kind;
  readonly contract: number;
  /** The value that selects it in `plugins.slots.memory`, `memorySearch.provider` or `query.rerank.provider`. */
  readonly id: string;
  /** A JSON Schema for `plugins.entries.<id>.config`. */
  readonly configSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Loads heavy libraries here or at the first call. Throws `UNAVAILABLE` for failures that a fallback can cover. */
  open(context: Context): Promise<Opened>;
}

export interface MemoryPluginContext extends PluginContext {
  /** Never empty. Each agent has its own index. */
  agentId: string;
  /** Canonical absolute path of an existing folder. */
  workspaceDir: string;
  /** Place of the index of this agent in this workspace. No other plugin gets the same place. */
  storePlace: StorePlace;
  /** Absolute folder that selects other programs' conversations. Absent: the workspace. */
  projectDir?: string | undefined;
  embeddings: EmbeddingChoice;
  /** Absent: results keep the order of the index. */
  rerank?: RerankChoice | undefined;
  /** Read-only: nothing is indexed or created on disk. */
  readOnly?: boolean | undefined;
  /** True if the user requested a rebuild: unreadable parts of the index are repaired first. */
  rebuild?: boolean | undefined;
  /** True if the process ends after one query: avoid slow start-up, such as a thread. */
  oneShot?: boolean | undefined;
  /** Shows a one-line notice to the user, each text at most once. */
  notify: (line: string) => void;
}

export interface MemoryPlugin extends Plugin<"memory", MemoryPluginContext, MemorySearchManager> {}

/** `settings` of a fallback lack `model`, `remote` and the input types, which are meant for the first provider. */
export interface EmbeddingPluginContext extends PluginContext {
  /** `models.providers`: keys and endpoints by the name of the provider. */
  providers: MemslotConfig["providers"];
  /** A variable of the environment that the configuration was read with; `undefined` if not set or blank. */
  environment: (name: string) => string | undefined;
  /** Model of existing vectors, in place of the configured one. Opening fails if it would need a download. */
  model?: string | undefined;
}

export interface EmbeddingPlugin extends Plugin<"embedding", EmbeddingPluginContext, EmbeddingProvider> {
  /** For `provider: "auto"`: whether it is usable now, and why. No network. Absent: only if enabled explicitly. */
  available?(context: EmbeddingPluginContext): Promise<Sentence & { ok: boolean }>;
  /** For local models: what is installed and what is missing. Changes nothing. Throws for an unusable model file. */
  setup?(context: EmbeddingPluginContext): Promise<EmbeddingSetup>;
}

/** Requirements of an embedding plugin on this machine. */
export interface EmbeddingSetup {
  /** Absolute path of the model, or where `prepare` of the provider will store it. */
  modelFile: string;
  /** Whether the model file exists and is complete. */
  isModelThere: boolean;
  modelBytes: number;
  /** Missing software. `npm`: arguments that install it; absent if npm cannot. */
  missing?: { reason: string; npm?: readonly string[] | undefined } | undefined;
}

export type RerankPluginContext = PluginContext & Pick<EmbeddingPluginContext, "environment">;

export interface RerankPlugin extends Plugin<"rerank", RerankPluginContext, Reranker> {}

export type AnyPlugin = MemoryPlugin | EmbeddingPlugin | RerankPlugin;

export type PluginKind = AnyPlugin["kind"];

/** Features that a memory plugin can declare in its manifest. */
export const memoryFeatures = {
  keyword: "keyword search with identifiers, Chinese, Japanese, Korean and Thai",
  vector: "vector search with the configured embedding provider",
  "own-models": "vector search with models of its own",
  "shared-vectors": "reuses the vectors of other backends",
  sessions: "searches session transcripts",
  sections: "finds several places in one file",
  fresh: "finds a saved note with the next search",
  rebuild: "answers during a rebuild",
  upkeep: "checks, repairs and compacts its index",
  estimate: "estimates the cost of embedding",
  "shared-index": "one index for many machines",
  "in-process": "needs no other program",
} as const;

export type MemoryFeature = keyof typeof memoryFeatures;

/** Content of `memslot.plugin.json`, which is next to the `package.json` of a plugin. */
export interface PluginManifest {
  /** Same as the `id` of the plugin. */
  id: string;
  kind: PluginKind;
  /** A JSON Schema for `plugins.entries.<id>.config`. */
  configSchema: Readonly<Record<string, unknown>>;
  name?: string | undefined;
  description?: string | undefined;
  /** Abilities of a memory plugin, for `memslot plugins`. */
  features?: readonly MemoryFeature[] | undefined;
  /** Limits and differences of a memory plugin, one sentence each. */
  limits?: readonly string[] | undefined;
}

/** The default export of a memory plugin's entry. */
export function defineMemoryPlugin(plugin: Omit<MemoryPlugin, "kind" | "contract">): MemoryPlugin {
  return { kind: "memory", contract: CONTRACT, ...plugin };
}

/** The default export of an embedding plugin's entry. */
export function defineEmbeddingPlugin(plugin: Omit<EmbeddingPlugin, "kind" | "contract">): EmbeddingPlugin {
  return { kind: "embedding", contract: CONTRACT, ...plugin };
}

/** The default export of a rerank plugin's entry. */
export function defineRerankPlugin(plugin: Omit<RerankPlugin, "kind" | "contract">): RerankPlugin {
  return { kind: "rerank", contract: CONTRACT, ...plugin };
}
