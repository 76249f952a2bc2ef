import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin, { openSqliteStore } from "@memslot/memory-core";

const whole = { enabled: true };
/** As on a host where sqlite-vec does not load. */
const withoutVec = { enabled: true, engine: "sqlite-vec", extensionPath: "/nowhere/vec0" } as const;

const placesIn = (stateDir: string) => ({ path: join(stateDir, "main.sqlite"), locksDir: join(stateDir, "locks") });

describe("with sqlite-vec", () => {
  memoryConformance({ describe, test }, { plugin, options: {} });
  chunkIndexConformance(
    { describe, test },
    {
      open: (stateDir) => openSqliteStore({ ...placesIn(stateDir), vector: whole, cacheMaxEntries: 1000 }),
      reopens: true,
    },
  );
});

describe("without sqlite-vec", () => {
  chunkIndexConformance(
    { describe, test },
    {
      open: (stateDir) => openSqliteStore({ ...placesIn(stateDir), vector: withoutVec, cacheMaxEntries: 1000 }),
      reopens: true,
      deviations: [
        {
          test: "vector: the probe says that the leg works",
          reason: "it says whether sqlite-vec works; all vectors are compared instead",
        },
      ],
    },
  );
});
