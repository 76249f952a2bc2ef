import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-core";
import { storesWith } from "./support/store-of-index.ts";

// Both suites in full, and only here: every other backend runs chosen checks of them in the quick tests.
memoryConformance({ describe, test }, { plugin, options: {} });
chunkStoreConformance({ describe, test }, { open: storesWith({ enabled: true }), reopens: true });
