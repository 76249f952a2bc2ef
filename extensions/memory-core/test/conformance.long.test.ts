import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { describe, test } from "vitest";
import { openSqliteStore } from "@memslot/memory-core";

// As `conformance.test.ts`, with a fresh thread for every opening.
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
