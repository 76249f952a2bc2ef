export { type Deviation, type TestContext, type TestRunner } from "./runner.ts";
export { type ChunkStoreConformanceOptions, chunkStoreConformance } from "./store-conformance.ts";
export { type EmbeddingConformanceOptions, embeddingConformance } from "./embedding-conformance.ts";
export {
  type DeterministicEmbeddings,
  type DeterministicEmbeddingsOptions,
  type EmbeddingCalls,
  deterministicEmbeddingPlugin,
  deterministicEmbeddings,
} from "./deterministic-embeddings.ts";
export { deterministicReranker } from "./deterministic-reranker.ts";
export { type RerankConformanceOptions, rerankConformance } from "./rerank-conformance.ts";
export { hostileStrings } from "./helpers/hostile-strings.ts";
export { type InMemoryStore, createInMemoryStore } from "./in-memory-store.ts";
export { createReferencePlugin } from "./reference-plugin.ts";
export { behindDeadPrimary, withSpare } from "./fallback.ts";
export { type MemoryConformanceOptions, memoryConformance } from "./memory-conformance.ts";
