import { type Memory, type OpenMemoryOptions, openMemory as openMemoryOf } from "@memslot/core";

/**
 * Opens the memory of an agent with the backends and embedding providers that come with this package; plugins named
 * in the configuration are found as well. Concurrent calls for the same agent, workspace and settings share one
 * instance, which is freed when each has closed its own. Throws `MemoryError`.
 *
 * ```ts
 * const config = await loadConfig({ cwd: process.cwd(), env: process.env, workspace: "notes" });
 * const memory = await openMemory({ config, agentId: "main" });
 * const results = await memory.search("when did we move the backups?");
 * await memory.close();
 * ```
 */
export function openMemory(options: Omit<OpenMemoryOptions, "host">): Promise<Memory> {
  return openMemoryOf({ ...options, host: import.meta.url });
}
