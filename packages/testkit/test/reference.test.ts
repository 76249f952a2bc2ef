import { describe, test } from "vitest";
import {
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddings,
  deterministicReranker,
  embeddingConformance,
  memoryConformance,
  rerankConformance,
} from "@memslot/testkit";

// The kit's own implementations keep the contracts that its suites check.
const runner = { describe, test };
memoryConformance(runner, { plugin: createReferencePlugin() });
chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false });
embeddingConformance(runner, { open: async () => deterministicEmbeddings() });
rerankConformance(runner, { open: async () => deterministicReranker() });
