import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { describe, test } from "vitest";
import { opensIndexes } from "../support/stored-index.ts";

describe("a ledger and a store with every part that one may have", () => {
  chunkIndexConformance({ describe, test }, { open: opensIndexes(), reopens: true });
});
