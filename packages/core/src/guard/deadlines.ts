/** How long a call of a memory may take before it fails with `UNAVAILABLE`. */
export interface MemoryDeadlines {
  /** 60 s: importing a plugin, making an embedding provider, opening a manager. */
  openMs: number;
  /** 30 s. */
  searchMs: number;
  /** 10 s. */
  readFileMs: number;
  /** 60 s. */
  probeMs: number;
  /** 10 min without progress. */
  syncIdleMs: number;
  /** 10 min: checking the whole index, or giving its space back. They tell no progress. */
  upkeepMs: number;
  /** 10 s for running calls to end, and 10 s for the manager to close. */
  closeMs: number;
}

/**
 * The only place where it is said how long memory is waited for. The guard keeps these for every backend; a tool gives its
 * whole answer, opening included, as long as a search has; the thread of a database is given up only after a call that no
 * database takes so long for, as whoever waits for it has been told long before.
 */
export const usualDeadlines: MemoryDeadlines = {
  openMs: 60_000,
  searchMs: 30_000,
  readFileMs: 10_000,
  probeMs: 60_000,
  syncIdleMs: 600_000,
  upkeepMs: 600_000,
  closeMs: 10_000,
};
