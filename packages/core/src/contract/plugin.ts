import type { MemorySearchSettings, MemslotConfig } from "./config.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
import type { MemorySearchManager } from "./manager.ts";
import type { RerankChoice, Reranker } from "./reranker.ts";

/** The number of the contract in this file. It changes only when an existing plugin would break. */
export const CONTRACT = 1;

/** Where a plugin may keep what it derives from the notes of one agent in one workspace. */
export interface StorePlace {
  /** Absolute. No other plugin, agent or workspace is given it. It need not be there yet. */
  folder: string;
  /**
   * The same for the agent and the workspace at each opening, and for no other two of them: where one folder, bucket or
   * database holds the indexes of many, it names the one. Small letters, digits, `-` and `_`, at most 64 of them.
   */
  name: string;
  /**
   * The same where several machines share the place: it follows from the agent and the id of the workspace, wherever
   * that is on each machine. The same as `name` for a workspace without an id. Like a name of a file.
   */
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
  /**
   * Heavy libraries are loaded here or at the first call, never at import. Of a memory plugin a failure that a standby
   * could cover is `UNAVAILABLE`. Of the others it is quick and needs no network: what takes long belongs into
   * `prepare` of the provider.
   */
  open(context: Context): Promise<Opened>;
}

/** What a memory plugin is given to open a manager. */
export interface MemoryPluginContext extends PluginContext {
  /** Never empty. Each agent has its own index. */
  agentId: string;
  /** Canonical absolute path of an existing folder. */
  workspaceDir: string;
  /** Where this plugin may keep the index of this agent in this workspace: no other plugin gets the same place. */
  storePlace: StorePlace;
  /**
   * Absolute: the folder that is asked from, for which of other programs' conversations are found; the workspace if
   * omitted.
   */
  projectDir?: string | undefined;
  embeddings: EmbeddingChoice;
  /** Absent: results keep the order of the index. */
  rerank?: RerankChoice | undefined;
  /** Read-only: nothing is indexed or created on disk. */
  readOnly?: boolean | undefined;
  /** True if a person asks for a rebuild of the index: what cannot be read of it is repaired first. */
  rebuild?: boolean | undefined;
  /**
   * True if the process asks one question and ends: what is quick to answer but slow to start, such as a thread, is not
   * worth it.
   */
  oneShot?: boolean | undefined;
  /** Tells the user one thing on one line, at most once for each text. */
  notify: (line: string) => void;
}

export interface MemoryPlugin extends Plugin<"memory", MemoryPluginContext, MemorySearchManager> {}

/**
 * The settings are those of the agent; for a standby (`memorySearch.fallback`) without what was written for the first
 * provider: `model`, `remote`, input types.
 */
export interface EmbeddingPluginContext extends PluginContext {
  /** `models.providers`: keys and endpoints by the name of the provider. */
  providers: MemslotConfig["providers"];
  /** Reads a variable of the environment that the configuration was read with. */
  environment: (name: string) => string | undefined;
  /**
   * In place of the configured model: one whose vectors are there already. Nothing may be fetched for it; where it is
   * not at hand, opening fails.
   */
  model?: string | undefined;
}

export interface EmbeddingPlugin extends Plugin<"embedding", EmbeddingPluginContext, EmbeddingProvider> {
  /**
   * For `provider: "auto"`: whether it can be used as things are, with no network and no download, and why. Absent: it
   * is used by `auto` only where `plugins.entries.<id>.enabled` is true.
   */
  available?(context: EmbeddingPluginContext): Promise<{ ok: boolean; reason: string }>;
  /**
   * For a plugin that works with files of this machine: what of them is there, and what is to be installed. It looks
   * only: no network, nothing loaded, nothing written. Throws if a file is there that cannot be used.
   */
  setup?(context: EmbeddingPluginContext): Promise<EmbeddingSetup>;
}

/** What an embedding plugin needs on this machine. */
export interface EmbeddingSetup {
  /** The file of its model, absolute: where it is, or where `prepare` of the provider will put it. */
  modelFile: string;
  /** The model is there and whole. */
  isModelThere: boolean;
  /** Bytes that are there: of the model, or of the part that has come of it. */
  modelBytes: number;
  /**
   * What it needs beside itself and is not installed. `npm` are the arguments that install it; absent if nothing can.
   */
  missing?: { reason: string; npm?: readonly string[] | undefined } | undefined;
}

export type RerankPluginContext = PluginContext & Pick<EmbeddingPluginContext, "environment">;

export interface RerankPlugin extends Plugin<"rerank", RerankPluginContext, Reranker> {}

/** A plugin of any kind. */
export type AnyPlugin = MemoryPlugin | EmbeddingPlugin | RerankPlugin;

/** What a plugin can be. */
export type PluginKind = AnyPlugin["kind"];

/**
 * What a memory plugin may say of itself in its manifest, so that a person who changes the slot is told what is gained
 * and what is lost. A manifest lists the names that apply under `features`; what else is to be known goes into
 * `limits`, a sentence each.
 */
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

/** A name of `memoryFeatures`. */
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
