import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import plugin from "@memslot/memory-lancedb";
import { inBucket, openedIn, sha256 } from "./support/stores.ts";

describe("in a folder", () => {
  memoryConformance({ describe, test }, { plugin, options: {} });
  chunkStoreConformance({ describe, test }, { open: (stateDir) => openedIn(stateDir), reopens: true });
});

describe("in a bucket", () => {
  let storage: ObjectStorage;
  beforeAll(async () => {
    storage = await startObjectStorage();
  });
  afterAll(() => storage.stop());

  // A prefix for each folder that a check begins with.
  const open = (stateDir: string) =>
    openedIn(stateDir, { ...inBucket(storage), dbPath: `s3://notes/${sha256(stateDir)}` });
  chunkStoreConformance({ describe, test }, { open, reopens: true });
});
