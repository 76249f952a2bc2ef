export { type MemoryErrorCode, MemoryError, isAbort, messageOf } from "./contract/errors.ts";
export type {
  AvailabilityProbe,
  CompactReport,
  IndexCheck,
  IndexFinding,
  LineRange,
  ManagerReadParams,
  ManagerSearchOptions,
  ManagerSyncParams,
  MemoryCapabilities,
  MemoryReadResult,
  MemorySearchManager,
  MemorySearchResult,
  MemorySurvey,
  SessionAudience,
  SessionTarget,
  SyncEstimate,
} from "./contract/manager.ts";
export type {
  SearchCondition,
  SearchLeg,
  FoundCounts,
  SearchMatch,
  SearchReport,
  SearchState,
  UnsearchedFiles,
  WordReading,
} from "./contract/report.ts";
export {
  acceptNotes,
  type HealthPart,
  type HealthState,
  healthOf,
  type MemoryHealth,
  noNotes,
} from "./contract/health.ts";
export type { ScoreParts, SearchWhy, WhyPlace, WhyRung, WhyStep, WhyTarget } from "./contract/search-why.ts";
export type {
  LeftOutFile,
  MemoryFile,
  MemoryFileFacts,
  MemoryFileList,
  MemoryPassage,
  NoteBacklink,
  NoteLink,
} from "./contract/memory-files.ts";
export type { MapNote, MemoryMap, NearPassage } from "./contract/memory-map.ts";
export type { IndexDetails, QuarantineRelease, SpaceDetails, SyncRecord } from "./contract/index-details.ts";
export type { SyncFailure, SyncProgress } from "./contract/status.ts";
export type { MemoryFallback, MemorySource, SyncReport } from "./contract/status.ts";
export type {
  BatchStatus,
  EmbeddingStatus,
  ExcludedNotes,
  FreshnessStatus,
  GenerationStatus,
  LastSync,
  MemoryProviderStatus,
  LeftOut,
  MemoryRootStatus,
  SourceCount,
  StorageStatus,
  WatchStatus,
  WriterStatus,
} from "./contract/status.ts";
export { describeExcluded, isPoor, namedNotes, weakConfidence, withConditions } from "./contract/conditions.ts";
export { whyTarget } from "./text/why-target.ts";
export { describeReadings } from "./text/describe-readings.ts";
export { createGlob, globProblem } from "./text/glob.ts";
export { lazily } from "./text/lazily.ts";
export { answerTokens, estimateTokens, isDense, mostResults, placeTokens, resultTokens } from "./text/result-tokens.ts";
export { hasOtherNames, isPrivateNote } from "./guard/private-notes.ts";
export { SerialQueue } from "./guard/serial-queue.ts";
export { type SessionKind, audienceOf, sessionKindOf } from "./guard/session-audience.ts";
export type {
  EmbeddingBatches,
  EmbeddingCallOptions,
  EmbeddingChoice,
  EmbeddingEndpoint,
  EmbeddingJobState,
  EmbeddingPrice,
  EmbeddingProvider,
} from "./contract/embedding.ts";
export {
  EmbeddingError,
  type EmbeddingFailure,
  type HttpFailure,
  embeddingErrorOf,
  httpEmbeddingError,
} from "./contract/embedding-error.ts";
export type { RerankCallOptions, RerankChoice, RerankReport, RerankedPlace, Reranker } from "./contract/reranker.ts";
export { appConfigDir } from "./config/client-folders.ts";
export {
  type ClientFolders,
  type ClientSource,
  clientOfPath,
  clientSources,
  isClientSource,
  isConversation,
} from "./contract/client-sources.ts";
export type { ExtraPath, MemorySearchSettings } from "./contract/settings.ts";
export type { Memory, MemoryReadParams, MemorySearchOptions, MemorySyncParams } from "./contract/memory.ts";
export {
  type AnyPlugin,
  CONTRACT,
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type EmbeddingSetup,
  type MemoryPlugin,
  type MemoryPluginContext,
  type PluginKind,
  type PluginManifest,
  type RerankPlugin,
  type RerankPluginContext,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
  defineRerankPlugin,
} from "./contract/plugin.ts";
export type { StorePlace } from "./open/store-place.ts";
export type { AgentConfig, CompactionSettings, ConfigEntry, MemslotConfig } from "./config/types.ts";
export { agentIdProblem, agentsWithState, checkAgentPlace } from "./config/agent-id.ts";
export { changeConfigFile } from "./config/change-file.ts";
export { fileToEdit, searchGroupIn } from "./config/edit/where-to-edit.ts";
export { editConfigFile, newConfigText } from "./config/edit/edit-file.ts";
export { type ConfigEdit, editConfigText } from "./config/edit/edit-text.ts";
export { foundOrigin, indexedBefore } from "./config/agent-settings.ts";
export {
  type FoundFolder,
  type LoadConfigOptions,
  type ParseConfigOptions,
  loadConfig,
  parseConfig,
} from "./config/load-config.ts";
export { currentFolder, homeDir, resolveStateDir } from "./config/paths.ts";
export { type ConfigReferenceRow, configReference } from "./config/keys/reference.ts";
export type { TrustedCode } from "./config/types.ts";
export { type TrustRecord, listTrusted, revokeTrust, trustConfig } from "./config/trust/trust.ts";
export type { SearchFilters, SearchOrder } from "./contract/search-filters.ts";
export { timeForms } from "./guard/call-arguments.ts";
export { withDeadline } from "./guard/deadline.ts";
export { type MemoryDeadlines, usualDeadlines } from "./guard/deadlines.ts";
export type { CreateMemoryOptions } from "./guard/asked-manager.ts";
export { createMemory } from "./guard/guard.ts";
export { type EmbeddingOpeners, createEmbeddingOpeners } from "./open/embedding-openers.ts";
export { type OpenMemoryOptions, openMemory } from "./open/open-memory.ts";
export { checkWorkspace } from "./open/workspace.ts";
export { type OfferedPlugin, offeredPlugins } from "./plugins/offered.ts";
export { type MemoryFeature, memoryFeatures } from "./plugins/features.ts";
export { installedPluginsDir } from "./plugins/installed.ts";
export { type DisabledPlugin, forbiddenBy, memoryState, resolveMemorySlot } from "./open/slot.ts";
export { discoverPlugins } from "./plugins/discover.ts";
export type { BrokenPlugin, FoundPlugin, FoundPlugins } from "./plugins/found-plugin.ts";
export type { BreakerClock } from "./fallback/breaker.ts";
export { type FallbackOptions, type FallbackPrimary, withFallback } from "./fallback/with-fallback.ts";
export type { FallbackSpare } from "./fallback/asked-spare.ts";
export {
  nameFromVisible,
  unseenCharacter,
  visibleJson,
  visibleMessage,
  visibleName,
  visibleText,
} from "./text/visible-text.ts";
export type {
  CallMessages,
  EmbeddingMessage,
  ProviderMessage,
  SearchMessage,
  StoreMessage,
  SyncMessage,
} from "./debug/messages.ts";
export { type Tell, isListenedTo, traceCall } from "./debug/trace-call.ts";
export { type Rest, createRest } from "./fallback/rest.ts";
