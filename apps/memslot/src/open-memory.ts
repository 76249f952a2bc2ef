import { type Memory, type OpenMemoryOptions, openMemory as openMemoryOf } from "@memslot/core";

/**
 * Opens the memory of an agent with the bundled backends and providers, and configured plugins. Concurrent calls share
 * one instance. Throws `MemoryError`.
 */
export function openMemory(options: Omit<OpenMemoryOptions, "host">): Promise<Memory> {
  return openMemoryOf({ ...options, host: import.meta.url });
}
