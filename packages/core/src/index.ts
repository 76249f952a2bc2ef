export { type MemoryErrorCode, MemoryError, isAbort, messageOf } from "./errors.ts";
export type {
  AvailabilityProbe,
  ManagerReadParams,
  ManagerSearchOptions,
  ManagerSyncParams,
  MemoryCapabilities,
  MemoryFallback,
  MemoryReadResult,
  MemorySearchManager,
  MemorySearchResult,
  MemorySource,
  SearchLeg,
  SearchReport,
  SearchState,
  SyncFailure,
  SyncProgress,
  SyncReport,
} from "./manager.ts";
export type { MemoryProviderStatus, MemoryRootStatus } from "./status.ts";
export type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
export type { ExtraPath, MemorySearchSettings } from "./settings.ts";
export type { Memory, MemoryReadParams, MemorySearchOptions, MemorySyncParams } from "./memory.ts";
export {
  CONTRACT,
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type MemoryPlugin,
  type MemoryPluginContext,
  type PluginManifest,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
} from "./plugin.ts";
export type { AgentConfig, CompactionSettings, ConfigEntry, MemslotConfig, PluginEntry, PluginsConfig } from "./config/types.ts";
