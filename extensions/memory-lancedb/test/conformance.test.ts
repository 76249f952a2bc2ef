import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import { chosenChecks, chosenMemoryChecks, chosenStoreChecks } from "@memslot/test-tools/chosen-checks";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-lancedb";
import { openedIn } from "./support/stores.ts";

// The suites in full: `conformance.long.test.ts`. Hundreds of hostile queries take a third of the time of all these
// checks; the store's check of hostile terms shows that LanceDB takes none for SQL.
const memoryChecks = chosenMemoryChecks.filter((name) => name !== "search: hostile query text raises nothing");

chosenChecks({ describe, test }, memoryChecks, (runner) => memoryConformance(runner, { plugin, options: {} }));
chosenChecks({ describe, test }, chosenStoreChecks, (runner) =>
  chunkStoreConformance(runner, { open: (stateDir) => openedIn(stateDir), reopens: true }),
);
