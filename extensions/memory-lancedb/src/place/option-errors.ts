import { MemoryError } from "@memslot/core";

/** A `CONFIG` error about one option of this plugin. `what` follows its name. Values are left out: they may be secrets. */
export function configError(key: string, what: string): MemoryError {
  return new MemoryError("CONFIG", `plugins.entries.memory-lancedb.config.${key} ${what}`);
}
