// npm install @memslot/core @memslot/indexing @memslot/testkit @duckdb/node-api && node --test conformance.test.ts
import { join } from "node:path";
import { describe, test } from "node:test";
import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import plugin from "./index.ts";
import { openDuckStore } from "./store.ts";

chunkStoreConformance(
  { describe, test },
  { open: (folder) => openDuckStore(join(folder, "index.duckdb")), reopens: true },
);
memoryConformance({ describe, test }, { plugin });
