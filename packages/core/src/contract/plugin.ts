import type { MemorySearchSettings, MemslotConfig } from "./config.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
import type { MemorySearchManager } from "./manager.ts";
import type { RerankChoice, Reranker } from "./reranker.ts";

/** The number of the contract in this file. It changes only when an existing plugin would break. */
export const CONTRACT = 1;

/** Where a plugin may keep what it derives from the notes of one agent in one workspace. */
export interface StorePlace {
  /** Absolute; exclusive to this plugin, agent and workspace. May not exist yet. */
  folder: string;
  /** Stable unique name for agent and workspace: lower-case letters, digits, `-` and `_`, at most 64. */
  name: string;
  /** The same across machines that share the place: from agent and workspace id; `name` without an id. */
  sharedName: string;
}

/** What every plugin is given when it is opened. */
interface PluginContext {
  settings: MemorySearchSettings;
  /** Where derived files may be kept, `~/.memslot` unless `MEMSLOT_HOME` says otherwise. */
  stateDir: string;
  /** `plugins.entries.<id>.config`, checked against the plugin's `configSchema`. */
  options: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
}

interface Plugin<Kind, Context, Opened> {
  readonly kind: Kind;
  readonly contract: number;
  /** The value of the key that chooses it: `plugins.slots.memory`, `memorySearch.provider`, `query.rerank.provider`. */
  readonly id: string;
  /** A JSON Schema for `plugins.entries.<id>.config`. */
  readonly configSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Loads heavy libraries here or at the first call. Throws `UNAVAILABLE` for a failure that a standby can cover. */
  open(context: Context): Promise<Opened>;
}

export interface MemoryPluginContext extends PluginContext {
  /** Never empty. Each agent has its own index. */
  agentId: string;
  /** Canonical absolute path of an existing folder. */
  workspaceDir: string;
  /** Where this plugin may keep the index of this agent in this workspace: no other plugin gets the same place. */
  storePlace: StorePlace;
  /** Absolute: the folder that selects other programs' conversations; default: the workspace. */
  projectDir?: string | undefined;
  embeddings: EmbeddingChoice;
  /** Absent: results keep the order of the index. */
  rerank?: RerankChoice | undefined;
  /** Read-only: nothing is indexed or created on disk. */
  readOnly?: boolean | undefined;
  /** True if a person asks for a rebuild of the index: what cannot be read of it is repaired first. */
  rebuild?: boolean | undefined;
  /** True if the process asks one question and ends: slow startup, such as a thread, is not worth it. */
  oneShot?: boolean | undefined;
  /** Tells the user one thing on one line, at most once for each text. */
  notify: (line: string) => void;
}

export interface MemoryPlugin extends Plugin<"memory", MemoryPluginContext, MemorySearchManager> {}

/** The settings of the agent; for a standby without `model`, `remote` and input types of the first provider. */
export interface EmbeddingPluginContext extends PluginContext {
  /** `models.providers`: keys and endpoints by the name of the provider. */
  providers: MemslotConfig["providers"];
  /** Reads a variable of the environment that the configuration was read with. */
  environment: (name: string) => string | undefined;
  /** Replaces the configured model by that of existing vectors; opening fails if it would need a download. */
  model?: string | undefined;
}

export interface EmbeddingPlugin extends Plugin<"embedding", EmbeddingPluginContext, EmbeddingProvider> {
  /** For `provider: "auto"`: whether it is usable now, and why. No network. Absent: only if enabled explicitly. */
  available?(context: EmbeddingPluginContext): Promise<{ ok: boolean; reason: string }>;
  /** For local models: what is installed and what is missing. Reads only. Throws for an unusable file. */
  setup?(context: EmbeddingPluginContext): Promise<EmbeddingSetup>;
}

/** What an embedding plugin needs on this machine. */
export interface EmbeddingSetup {
  /** The file of its model, absolute: where it is, or where `prepare` of the provider will put it. */
  modelFile: string;
  /** The model is there and whole. */
  isModelThere: boolean;
  modelBytes: number;
  /** What must be installed besides. `npm`: arguments that install it; absent if npm cannot. */
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

/** Beside a plugin's `package.json`, as `memslot.plugin.json`. */
export interface PluginManifest {
  id: string;
  kind: PluginKind;
  configSchema: Readonly<Record<string, unknown>>;
  name?: string | undefined;
  description?: string | undefined;
  /** Of a memory plugin: what it can do, for `memslot plugins`. */
  features?: readonly MemoryFeature[] | undefined;
  /** Of a memory plugin: what it cannot do or does otherwise, a sentence each. */
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
