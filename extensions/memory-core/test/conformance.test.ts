import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin, { openSqliteStore } from "@memslot/memory-core";

// Both suites in full, and only here: every other backend runs chosen checks of them in the quick tests.
memoryConformance({ describe, test }, { plugin, options: {} });
chunkIndexConformance(
  { describe, test },
  {
    open: (stateDir) =>
      openSqliteStore({
        path: join(stateDir, "main.sqlite"),
        locksDir: join(stateDir, "locks"),
        vector: { enabled: true },
        cacheMaxEntries: 1000,
      }),
    reopens: true,
  },
);
