import { createHash } from "node:crypto";
import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import type { TestRunner } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openLanceStore } from "@memslot/memory-lancedb";
import { inBucket } from "./test/places.ts";

/**
 * What depends on where an index lies: who may write, what others see, and when. The other checks run in a folder; here
 * each of their calls is dozens of requests. The check that is left out searches as often as it can while a build is
 * finished, and so is mostly a check of the fake.
 */
const isOfPlaces = (name: string): boolean =>
  /^(?:deviations|leases|lifecycle|revision|builds|files: (?:a file|a cursor))/.test(name) &&
  name !== "builds: searches that run while one is finished find all of the old or all of the new";

const vitest: TestRunner = { describe, test };
const runner: TestRunner = {
  describe,
  test: (name, ...rest) => (isOfPlaces(name) ? vitest.test(name, ...rest) : undefined),
};

let storage: ObjectStorage;
beforeAll(async () => {
  storage = await startObjectStorage();
});
afterAll(() => storage.stop());

describe("in a bucket", () => {
  chunkIndexConformance(runner, {
    open: (stateDir) =>
      openLanceStore({
        // A prefix for each folder that a check begins with.
        lance: { ...inBucket(storage), dbPath: `s3://notes/${createHash("sha256").update(stateDir).digest("hex")}` },
        agentId: "main",
        stateDir,
        mayCreate: true,
        shared: { path: join(stateDir, "memory", "main.sqlite"), maxEntries: 1000 },
        signal: AbortSignal.timeout(60_000),
      }),
    reopens: true,
  });
});
