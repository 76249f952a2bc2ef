import { randomUUID } from "node:crypto";
import type { Table, Tags } from "@lancedb/lancedb";
import { MemoryError, messageOf } from "@memslot/core";
import { type Within, callMs } from "../place-errors.ts";

/** Tags of probes begin so; the time of their making follows. */
const tagPrefix = "memslot-probe-";

/** A probe that is older was left by a process that ended in the middle of it. */
const leftMs = 3_600_000;

/**
 * Whether the storage refuses to write a key that is there already (`If-None-Match: *`). On this every commit of
 * LanceDB relies: without it, of two commits at once one is lost, and nobody is told. LanceDB writes a tag under exactly
 * this condition, so the same tag is made twice, with the client and the keys that the index is written with: the second
 * time must be refused.
 */
export async function probeConditionalWrites(table: Table, within: Within): Promise<boolean> {
  const run = <T>(call: () => Promise<T>): Promise<T> =>
    within("probing for conditional writes", callMs, undefined, call);
  const version = await run(() => table.version());
  const tags = await run(() => table.tags());
  const name = `${tagPrefix}${Date.now()}-${randomUUID()}`;
  await run(() => tags.create(name, version));
  const isRefused = await isSecondRefused(() => run(() => tags.create(name, version)));
  await run(() => tags.delete(name));
  return isRefused;
}

async function isSecondRefused(make: () => Promise<void>): Promise<boolean> {
  try {
    await make();
    return false;
  } catch (error) {
    if (/already exists|Ref conflict/i.test(messageOf(error))) return true;
    throw error;
  }
}

/** Deletes what probes of processes that have ended have left: a version with a tag is never tidied away. */
export async function deleteLeftProbes(tags: Tags, now: number): Promise<void> {
  for (const name of Object.keys(await tags.list())) {
    const madeAt = Number(/^memslot-probe-(\d+)-/.exec(name)?.[1]);
    if (now - madeAt > leftMs) await tags.delete(name);
  }
}

/** True for the error of a storage that says of itself that it has no conditional writes. */
export function saysUnsupported(error: unknown): boolean {
  const texts = [error, error instanceof Error ? error.cause : undefined].map(messageOf);
  return texts.some((text) => /NotImplemented|not (?:yet )?(?:implemented|supported)|\b501\b/i.test(text));
}

export function missingConditions(place: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `${place} has no conditional writes: it writes a key again that is there already, so commits to the index would be lost in silence; use a storage that refuses a second PUT with If-None-Match: * (AWS S3, Cloudflare R2, MinIO, Google Cloud Storage, Azure), or a folder on this machine as plugins.entries.memory-lancedb.config.dbPath`,
    cause === undefined ? {} : { cause },
  );
}
