/** The contract of memslot: types, errors, plugins, and opening a memory. `@memslot/core/host` has the rest. */
export { type MemoryErrorCode, MemoryError, isAbort, messageOf } from "./contract/errors.ts";
export type * from "./contract/manager.ts";
export type * from "./contract/search-report.ts";
export type { Sentence, SentenceCode, SentenceMeaning } from "./contract/sentences.ts";
export {
  type HealthPart,
  type HealthState,
  type MemoryHealth,
  describeExcluded,
  describeReadings,
  healthOf,
} from "./contract/health.ts";
export type * from "./contract/search.ts";
export type * from "./contract/index-answers.ts";
export type * from "./contract/status.ts";
export { estimateTokens, mostResults } from "./text/result-tokens.ts";
export { type SessionKind, audienceOf, sessionKindOf } from "./guard/audience.ts";
export type * from "./contract/embedding.ts";
export {
  type EmbeddingFailure,
  type HttpFailure,
  ProviderError,
  EmbeddingError,
  httpEmbeddingError,
} from "./contract/provider-error.ts";
export type * from "./contract/reranker.ts";
export { type ClientId, clientIds } from "./contract/client-ids.ts";
export { clientSources } from "./contract/config.ts";
export type * from "./contract/config.ts";
export type * from "./contract/calls.ts";
export type { ExtraPath } from "./contract/config-values.ts";
export type * from "./contract/memory.ts";
export * from "./contract/plugin.ts";
export {
  type FoundFolder,
  type LoadConfigOptions,
  type ParseConfigOptions,
  loadConfig,
  parseConfig,
} from "./config/load-config.ts";
export { type MemoryDeadlines, usualDeadlines, withDeadline } from "./guard/deadline.ts";
export type { CreateMemoryOptions } from "./guard/guarded-client.ts";
export { createMemory } from "./guard/guarded-memory.ts";
export { type OpenMemoryOptions, openMemory } from "./open/open-memory.ts";
export { type MemoryPool, type MemoryPoolOptions, createMemoryPool } from "./open/memory-pool.ts";
export type { FallbackBackend } from "./fallback/primary.ts";
export { withFallback } from "./fallback/with-fallback.ts";
export { visibleText, visibleMessage, visibleName, visibleJson } from "./text/visible-text.ts";
export type {
  CallMessages,
  EmbeddingMessage,
  ProviderMessage,
  SearchMessage,
  StoreMessage,
  SyncMessage,
} from "./debug/messages.ts";
