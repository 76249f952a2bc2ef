// Of a file that is handed on whole (`*`), all that it exports is public.
export { type MemoryErrorCode, MemoryError, isAbort, messageOf } from "./contract/errors.ts";
export type * from "./contract/manager.ts";
export type * from "./contract/report.ts";
export {
  acceptNotes,
  describeExcluded,
  describeReadings,
  type HealthPart,
  type HealthState,
  healthOf,
  isPoor,
  type MemoryHealth,
  namedNotes,
  noNotes,
  weakConfidence,
  withConditions,
} from "./contract/health.ts";
export type * from "./contract/search.ts";
export type * from "./contract/index-answers.ts";
export type * from "./contract/status.ts";
export * from "./text/glob.ts";
export { editDistance } from "./text/nearest-word.ts";
export * from "./text/result-tokens.ts";
export { audienceOf, hasOtherNames, isPrivateNote, type SessionKind, sessionKindOf } from "./guard/audience.ts";
export type * from "./contract/embedding.ts";
export * from "./contract/provider-error.ts";
export type * from "./contract/reranker.ts";
export { type ClientId, clientIds } from "./contract/client-ids.ts";
export * from "./contract/config.ts";
export type * from "./contract/calls.ts";
export type { ExtraPath } from "./contract/config-values.ts";
export type * from "./contract/memory.ts";
export * from "./contract/plugin.ts";
export { agentIdProblem, agentsWithState, checkAgentPlace } from "./config/names.ts";
export * from "./config/edit.ts";
export { foundOrigin, indexedBefore } from "./config/agent-settings.ts";
export {
  type FoundFolder,
  type LoadConfigOptions,
  type ParseConfigOptions,
  loadConfig,
  parseConfig,
} from "./config/load-config.ts";
export { currentFolder, homeDir, type PatternPlace, patternPath, resolveStateDir } from "./config/paths.ts";
export { type ConfigReferenceRow, configReference } from "./config/keys.ts";
export { type TrustRecord, listTrusted, revokeTrust, trustConfig } from "./config/trust.ts";
export { timeForms, whyTarget } from "./guard/arguments.ts";
export { passMemoryCalls } from "./guard/calls.ts";
export { type MemoryDeadlines, usualDeadlines, withDeadline } from "./guard/deadline.ts";
export type { CreateMemoryOptions } from "./guard/client.ts";
export { createMemory } from "./guard/guard.ts";
export { type EmbeddingOpeners, createEmbeddingOpeners } from "./open/open-plugin.ts";
export { type OpenMemoryOptions, openMemory } from "./open/open-memory.ts";
export { type MemoryPool, type MemoryPoolOptions, createMemoryPool } from "./open/memory-pool.ts";
export { checkWorkspace } from "./open/workspace.ts";
export { installedPluginsDir } from "./config/packages.ts";
export { type DisabledPlugin, memoryState, resolveMemorySlot } from "./open/slot.ts";
export { discoverPlugins } from "./plugins/discover.ts";
export {
  type BrokenPlugin,
  type FoundPlugin,
  type FoundPlugins,
  type OfferedPlugin,
  forbiddenBy,
  offeredPlugins,
} from "./plugins/known-plugins.ts";
export type { BreakerClock, FallbackOptions, FallbackPrimary } from "./fallback/primary.ts";
export type { FallbackSpare } from "./fallback/standby.ts";
export { withFallback } from "./fallback/with-fallback.ts";
export * from "./text/visible-text.ts";
export type {
  CallMessages,
  EmbeddingMessage,
  ProviderMessage,
  SearchMessage,
  StoreMessage,
  SyncMessage,
} from "./debug/messages.ts";
export { type Tell, isListenedTo, traceCall } from "./debug/trace-call.ts";
export * from "./run-control.ts";
