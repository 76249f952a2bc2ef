import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectStorage, type ObjectStorageOptions, startObjectStorage } from "@memslot/fakes/object-storage";
import { onTestFinished } from "vitest";
import type { LanceOptions } from "../options.ts";
import { openPlace } from "../place/open-place.ts";
import { type LancePlace, type OpenPlaceOptions } from "../place/place.ts";

/** An object storage that is stopped with the test. */
export async function startStorage(options: ObjectStorageOptions = {}): Promise<ObjectStorage> {
  const storage = await startObjectStorage(options);
  onTestFinished(() => storage.stop());
  return storage;
}

export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "memslot-place-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a place that is closed with the test. */
export async function open(lance: LanceOptions, more: Partial<OpenPlaceOptions> = {}): Promise<LancePlace> {
  const place = await openPlace({
    lance,
    agentId: "main",
    stateDir: "/nowhere",
    mayCreate: true,
    signal: new AbortController().signal,
    ...more,
  });
  onTestFinished(() => place.close());
  // As a store does that finds no index.
  if (more.mayCreate !== false) await place.toWrite?.();
  return place;
}

/** The options for a bucket of this storage. Patience is short, so that a test of an outage does not take long. */
export function inBucket(storage: ObjectStorage, more: Record<string, string> = {}): LanceOptions {
  return {
    dbPath: "s3://notes/team",
    storageOptions: { ...storage.storageOptions(), client_max_retries: "1", client_retry_timeout: "2", ...more },
  };
}

/** The error of a call that must fail. */
export async function errorOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

/** Everything that a log could show of an error. */
export function allTextOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, error.stack, error.cause === undefined ? "" : allTextOf(error.cause)].join("\n");
}
