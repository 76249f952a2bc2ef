// Run by `node --test` from reference.long.test.ts.
import { describe, test } from "node:test";
import {
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddingPlugin,
  embeddingConformance,
  memoryConformance,
} from "@memslot/testkit";
import data from "../data/reference.json" with { type: "json" };

const runner = { describe, test };
memoryConformance(runner, {
  plugin: createReferencePlugin(),
  deviations: data.deviations,
});
chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false });
embeddingConformance(runner, { plugin: deterministicEmbeddingPlugin });
