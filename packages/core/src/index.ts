export { type MemoryErrorCode, MemoryError, isAbort, messageOf } from "./errors.ts";
export { childEnvironment, networkVariables } from "./child-environment.ts";
export type {
  AvailabilityProbe,
  CompactReport,
  IndexCheck,
  IndexFinding,
  ManagerReadParams,
  ManagerSearchOptions,
  ManagerSyncParams,
  MemoryCapabilities,
  MemoryFallback,
  MemoryReadResult,
  MemorySearchManager,
  MemorySearchResult,
  MemorySource,
  MemorySurvey,
  SearchCondition,
  SearchLeg,
  SearchReport,
  SearchState,
  SessionAudience,
  SessionTarget,
  SyncEstimate,
  SyncFailure,
  SyncProgress,
  SyncReport,
  UnsearchedFiles,
} from "./manager.ts";
export type {
  BatchStatus,
  EmbeddingStatus,
  GenerationStatus,
  LastSync,
  MemoryProviderStatus,
  MemoryRootStatus,
  SourceCount,
  StorageStatus,
  WatchStatus,
  WriterStatus,
} from "./status.ts";
export { conditionsOf, weakConfidence, withConditions } from "./conditions.ts";
export { type Glob, createGlob } from "./glob.ts";
export { hasOtherNames, isPrivateNote } from "./private-notes.ts";
export { type SessionKind, audienceOf, sessionKindOf } from "./session-audience.ts";
export type {
  EmbeddingBatches,
  EmbeddingCallOptions,
  EmbeddingChoice,
  EmbeddingEndpoint,
  EmbeddingJobState,
  EmbeddingProvider,
} from "./embedding.ts";
export type { EmbeddingPrice } from "./embedding-price.ts";
export {
  EmbeddingError,
  type EmbeddingFailure,
  type HttpFailure,
  embeddingErrorOf,
  httpEmbeddingError,
} from "./embedding-error.ts";
export { answerLines, limitAnswer, smallAnswerBytes, vectorAnswerBytes } from "./answer-size.ts";
export { type ModelPrefixes, modelPrefixes } from "./model-prefixes.ts";
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
export type { StorePlace } from "./store-place.ts";
export type {
  AgentConfig,
  CompactionSettings,
  ConfigEntry,
  MemslotConfig,
  PluginEntry,
  PluginsConfig,
} from "./config/types.ts";
export { agentIdProblem, agentsWithState, checkAgentPlace } from "./config/agent-id.ts";
export { editConfigFile } from "./config/edit-file.ts";
export type { ConfigEdit } from "./config/edit-text.ts";
export { initialConfigText } from "./config/initial-text.ts";
export { type LoadConfigOptions, type ParseConfigOptions, loadConfig, parseConfig } from "./config/load-config.ts";
export { currentFolder, homeDir, resolveStateDir } from "./config/paths.ts";
export { type ConfigReferenceRow, configReference } from "./config/reference.ts";
export type { TrustedCode } from "./config/trusted-code.ts";
export { type TrustRecord, listTrusted, revokeTrust, trustConfig } from "./config/trust.ts";
export { type FoundKey, checkHeader, checkKey } from "./check-credentials.ts";
export { type CallLimits, type Extend, withDeadline } from "./deadline.ts";
export { type CreateMemoryOptions, type MemoryDeadlines, createMemory } from "./guard.ts";
export { type OpenMemoryOptions, openMemory } from "./open-memory.ts";
export { type CataloguePlugin, pluginCatalogue } from "./plugins/catalogue.ts";
export { type MemoryFeature, memoryFeatures } from "./plugins/features.ts";
export { installedPluginsDir } from "./plugins/installed.ts";
export {
  type DisabledPlugin,
  type SlotCandidate,
  type SlotDecision,
  forbiddenBy,
  memoryState,
  resolveMemorySlot,
} from "./slot.ts";
export { type DiscoverOptions, discoverPlugins } from "./plugins/discover.ts";
export type { BrokenPlugin, FoundPlugin, FoundPlugins } from "./plugins/found-plugin.ts";
export { type ChooseEmbeddingsOptions, type ChosenEmbeddings, chooseEmbeddings } from "./choose-embeddings.ts";
export type { BreakerClock } from "./breaker.ts";
export { type FallbackOptions, type FallbackPrimary, type FallbackSpare, withFallback } from "./with-fallback.ts";
export {
  nameFromVisible,
  unseenCharacter,
  visibleJson,
  visibleMessage,
  visibleName,
  visibleText,
} from "./visible-text.ts";
