// Run by `node --test` from reference.long.test.ts.
import { describe, test } from "node:test";
import {
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddings,
  embeddingConformance,
  memoryConformance,
} from "@memslot/testkit";

const runner = { describe, test };
memoryConformance(runner, {
  plugin: createReferencePlugin(),
  deviations: [
    {
      test: "read: gives the file as it is now, not as it was indexed",
      reason: "shows that node:test gets the reason",
    },
  ],
});
chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false });
embeddingConformance(runner, { open: async () => deterministicEmbeddings() });
