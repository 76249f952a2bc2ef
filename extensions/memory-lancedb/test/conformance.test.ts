import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin, { openLanceStore } from "@memslot/memory-lancedb";

describe("in a folder", () => {
  memoryConformance({ describe, test }, { plugin, options: {} });
  chunkStoreConformance(
    { describe, test },
    {
      async open(stateDir) {
        const signal = AbortSignal.timeout(60_000);
        return (await openLanceStore({ lance: {}, agentId: "main", stateDir, mayCreate: true, signal })).store;
      },
      reopens: true,
    },
  );
});
