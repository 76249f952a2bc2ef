import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { chosenChecks, chosenStoreChecks } from "@memslot/test-tools/chosen-checks";
import { test } from "vitest";
import { opensIndexes } from "../support/stored-index.ts";
import data from "../data/stored-index.json" with { type: "json" };

/** What the index of a ledger and a store promises above its store: one check of each kind. `backends/stored-index.long.test.ts` has all of them. */
const ownChecks = data.ownChecks;

const runner = { describe: (_name: string, body: () => void) => body(), test };
chosenChecks(runner, [...ownChecks, ...chosenStoreChecks], (chosen) =>
  chunkIndexConformance(chosen, { open: opensIndexes(), reopens: true }),
);
