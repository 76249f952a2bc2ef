import type { ClientFolders } from "./client-sources.ts";
import type { ConfigValues } from "./config-values.ts";

type SearchValues = ConfigValues["agents"]["defaults"]["memorySearch"];

/**
 * The effective settings of one agent: `agents.defaults.memorySearch` with `agents.list[].memorySearch` laid over it
 * field by field, every default filled in, frozen. Paths are absolute, and `{agentId}` is replaced.
 */
export interface MemorySearchSettings extends SearchValues {
  readonly clients: SearchValues["clients"] & {
    /** Where the programs of `clientSources` keep their conversations. */
    readonly folders: ClientFolders;
  };
}

/** The effective `compaction` of one agent. */
export type CompactionSettings = ConfigValues["agents"]["defaults"]["compaction"];
