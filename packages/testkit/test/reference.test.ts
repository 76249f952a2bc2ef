import { describe, test } from "vitest";
import {
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddingPlugin,
  deterministicRerankPlugin,
  embeddingConformance,
  memoryConformance,
  rerankConformance,
} from "@memslot/testkit";

// The kit's own implementations pass its suites.
const runner = { describe, test };
memoryConformance(runner, { plugin: createReferencePlugin() });
chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false });
embeddingConformance(runner, { plugin: deterministicEmbeddingPlugin });
rerankConformance(runner, { plugin: deterministicRerankPlugin });
