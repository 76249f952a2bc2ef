import { describe, test } from "vitest";
import { chunkStoreConformance, createInMemoryStore } from "@memslot/testkit";

chunkStoreConformance({ describe, test }, { open: async () => createInMemoryStore(), reopens: false });
