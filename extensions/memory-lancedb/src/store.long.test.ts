import { createHash } from "node:crypto";
import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { chunkStoreConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openLanceStore } from "@memslot/memory-lancedb";
import { inBucket } from "./test/places.ts";

let storage: ObjectStorage;
beforeAll(async () => {
  storage = await startObjectStorage();
});
afterAll(() => storage.stop());

describe("in a bucket", () => {
  chunkStoreConformance(
    { describe, test },
    {
      async open(stateDir) {
        // A prefix for each folder that a check begins with.
        const prefix = createHash("sha256").update(stateDir).digest("hex");
        const { store } = await openLanceStore({
          lance: { ...inBucket(storage), dbPath: `s3://notes/${prefix}` },
          agentId: "main",
          stateDir,
          mayCreate: true,
          signal: AbortSignal.timeout(60_000),
        });
        return store;
      },
      reopens: true,
    },
  );
});
