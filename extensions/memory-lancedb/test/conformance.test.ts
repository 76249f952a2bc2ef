import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin, { openLanceStore } from "@memslot/memory-lancedb";

describe("in a folder", () => {
  memoryConformance({ describe, test }, { plugin, options: {} });
  chunkIndexConformance(
    { describe, test },
    {
      open: (stateDir) =>
        openLanceStore({
          lance: {},
          agentId: "main",
          stateDir,
          mayCreate: true,
          signal: AbortSignal.timeout(60_000),
        }),
      reopens: true,
    },
  );
});
