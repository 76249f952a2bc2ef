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
export { hostileStrings } from "./hostile-strings.ts";
export { type InMemoryStore, createInMemoryStore } from "./in-memory-store.ts";
export { createReferencePlugin } from "./reference-plugin.ts";
export { behindDeadPrimary, withSpare } from "./fallback.ts";
export { type MemoryConformanceOptions, memoryConformance } from "./memory-conformance.ts";
export { startEmbeddingApi } from "./embedding-api/server.ts";
export { type ApiRequest, type EmbeddingApi, type EmbeddingApiOptions } from "./embedding-api/options.ts";
export { type ApiFault } from "./embedding-api/faults.ts";
export { type GgufTensor, type GgufValue, ggufBytes } from "./gguf/gguf-bytes.ts";
export { type TinyGgufOptions, writeTinyGguf } from "./gguf/tiny-gguf.ts";
export { startObjectStorage } from "./object-storage/server.ts";
export {
  type ObjectRequest,
  type ObjectStorage,
  type ObjectStorageOptions,
  type ObjectStorageStats,
} from "./object-storage/options.ts";
