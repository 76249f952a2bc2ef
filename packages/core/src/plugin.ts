import type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
import type { MemorySearchManager } from "./manager.ts";
import type { MemorySearchSettings } from "./settings.ts";

/** The number of the contract in this file. It changes only when an existing plugin would break. */
export const CONTRACT = 1;

/** What a memory plugin is given to open a manager. */
export interface MemoryPluginContext {
  /** Never empty. Each agent has its own index. */
  agentId: string;
  /** Canonical absolute path of an existing folder. */
  workspaceDir: string;
  /** Where derived files may be kept, `~/.memslot` unless `MEMSLOT_HOME` says otherwise. */
  stateDir: string;
  settings: MemorySearchSettings;
  /** `plugins.entries.<id>.config`, checked against the plugin's `configSchema`. */
  options: Readonly<Record<string, unknown>>;
  embeddings: EmbeddingChoice;
  /** Tells the user one thing on one line, at most once for each text. */
  notify: (line: string) => void;
  signal: AbortSignal;
}

export interface MemoryPlugin {
  readonly kind: "memory";
  readonly contract: number;
  /** The value of `plugins.slots.memory` that chooses it. */
  readonly id: string;
  /** A JSON Schema for `plugins.entries.<id>.config`. */
  readonly configSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Heavy libraries are loaded here, never at import. A failure that a spare could cover is `UNAVAILABLE`. */
  open(context: MemoryPluginContext): Promise<MemorySearchManager>;
}

export interface EmbeddingPluginContext {
  settings: MemorySearchSettings;
  stateDir: string;
  options: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
}

export interface EmbeddingPlugin {
  readonly kind: "embedding";
  readonly contract: number;
  /** The value of `memorySearch.provider` that chooses it. */
  readonly id: string;
  readonly configSchema?: Readonly<Record<string, unknown>> | undefined;
  open(context: EmbeddingPluginContext): Promise<EmbeddingProvider>;
}

/** Beside a plugin's `package.json`, as `memslot.plugin.json`. */
export interface PluginManifest {
  id: string;
  kind: "memory" | "embedding";
  configSchema: Readonly<Record<string, unknown>>;
  name?: string | undefined;
  description?: string | undefined;
}

/** The default export of a memory plugin's entry. */
export function defineMemoryPlugin(plugin: Omit<MemoryPlugin, "kind" | "contract">): MemoryPlugin {
  return { kind: "memory", contract: CONTRACT, ...plugin };
}

/** The default export of an embedding plugin's entry. */
export function defineEmbeddingPlugin(plugin: Omit<EmbeddingPlugin, "kind" | "contract">): EmbeddingPlugin {
  return { kind: "embedding", contract: CONTRACT, ...plugin };
}
