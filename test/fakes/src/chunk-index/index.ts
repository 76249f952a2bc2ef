export { type ChunkIndexConformanceOptions, chunkIndexConformance } from "./chunk-index-conformance.ts";
export { type InMemoryIndex, createInMemoryIndex } from "./in-memory/in-memory-index.ts";
