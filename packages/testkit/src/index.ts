export { type Deviation, type SuiteOptions, type TestContext, type TestRunner } from "./register-suite.ts";
export { type ChunkStoreConformanceOptions, chunkStoreConformance } from "./store-conformance.ts";
export { type MemoryConformanceOptions, memoryConformance } from "./memory-conformance.ts";
export {
  type EmbeddingConformanceOptions,
  type RerankConformanceOptions,
  embeddingConformance,
  rerankConformance,
} from "./provider-conformance.ts";
export { type LeaseConformanceOptions, leasesConformance } from "./lease-conformance.ts";
export * from "./deterministic-providers.ts";
export { hostileStrings } from "./helpers/hostile-strings.ts";
export { type InMemoryStore, createInMemoryStore } from "./in-memory-store.ts";
export { createReferencePlugin } from "./reference-plugin.ts";
