import { MemoryError, messageOf } from "@memslot/core";
import { addressOf } from "./address.ts";
import { openBucket } from "./bucket.ts";
import { openCloud } from "./cloud.ts";
import { openFolder } from "./folder.ts";
import type { LanceLibrary, LancePlace, OpenPlaceOptions } from "./place.ts";

/**
 * Opens the place that `dbPath` names. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where
 * LanceDB does not load, or where the place cannot be reached or does not keep what several hosts write.
 */
export async function openPlace(options: OpenPlaceOptions): Promise<LancePlace> {
  const address = addressOf(options);
  const library = await loadLibrary();
  if (address.kind === "folder") return openFolder(library, address.folder, options.mayCreate);
  if (address.kind === "bucket") return openBucket(library, address, options);
  return openCloud(library, address, options);
}

/**
 * Loads LanceDB, which is native. Throws `UNAVAILABLE` where there is no binary for this machine, as on a Mac with an
 * Intel processor, or where it will not load.
 */
async function loadLibrary(): Promise<LanceLibrary> {
  // Its log goes to the error stream of whoever runs this. What it warns of reaches the user as an error of ours.
  process.env["LANCEDB_LOG"] ??= "error";
  try {
    return await import("@lancedb/lancedb");
  } catch (error) {
    throw new MemoryError("UNAVAILABLE", libraryMessage(error, process.platform, process.arch), { cause: error });
  }
}

/** What to do where LanceDB does not load. Takes platform and processor in the words of Node. */
export function libraryMessage(error: unknown, platform: string, processor: string): string {
  const machine = `${platform}-${processor}`;
  if (machine === "darwin-x64")
    return `LanceDB has no binary for ${machine}; set plugins.slots.memory to "memory-core", or use another machine`;
  return `LanceDB cannot be loaded on ${machine}: ${messageOf(error)}; install @lancedb/lancedb again with its optional dependencies, or set plugins.slots.memory to "memory-core"`;
}
