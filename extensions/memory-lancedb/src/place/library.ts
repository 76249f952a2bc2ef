import { MemoryError, messageOf } from "@memslot/core";

/** The module `@lancedb/lancedb`. */
export type LanceLibrary = typeof import("@lancedb/lancedb");

/**
 * Loads LanceDB, which is native. Throws `UNAVAILABLE` where there is no binary for this machine, as on a Mac with an
 * Intel processor, or where it will not load.
 */
export async function loadLibrary(): Promise<LanceLibrary> {
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
