export { type ChunkIndexConformanceOptions, chunkIndexConformance } from "./chunk-index-conformance.ts";
