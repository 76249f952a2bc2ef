import { describe, test } from "vitest";
import { chunkIndexConformance, createInMemoryStore } from "@memslot/testkit";

chunkIndexConformance({ describe, test }, { open: async () => createInMemoryStore(), reopens: false });
