import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import { chosenMemoryChecks, chosenStoreChecks } from "@memslot/test-tools/chosen-checks";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-lancedb";
import { openedIn } from "./support/stores.ts";

// The suites in full: `conformance.long.test.ts`.
memoryConformance({ describe, test }, { plugin, options: {}, only: chosenMemoryChecks });
chunkStoreConformance({ describe, test }, { open: (dir) => openedIn(dir), reopens: true, only: chosenStoreChecks });
