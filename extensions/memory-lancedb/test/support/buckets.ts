import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import type { ChunkStore } from "@memslot/indexing";
import { onTestFinished } from "vitest";
import type { LanceStoreSettings } from "@memslot/memory-lancedb";
import { open, tempFolder } from "./stores.ts";

/** An object storage that is stopped with the test. */
export async function startStorage(): Promise<ObjectStorage> {
  const storage = await startObjectStorage();
  onTestFinished(() => storage.stop());
  return storage;
}

/** Opens a store in a bucket, as a host of its own. */
export async function openIn(
  storage: ObjectStorage,
  given: Partial<LanceStoreSettings> = {},
): Promise<Required<ChunkStore>> {
  const storageOptions = { ...storage.storageOptions(), client_max_retries: "1", client_retry_timeout: "2" };
  return await open(await tempFolder(), { lance: { dbPath: "s3://notes/team", storageOptions }, ...given });
}

/** How many requests the storage gets while something is done. */
export async function requestsOf(storage: ObjectStorage, work: () => Promise<unknown>): Promise<number> {
  const before = storage.stats().requests;
  await work();
  return storage.stats().requests - before;
}
