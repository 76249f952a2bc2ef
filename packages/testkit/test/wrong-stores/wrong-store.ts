import type { ChunkStore } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";

/** A store that keeps its contract but for one fault, and the check that has to notice. */
export interface WrongStore {
  fault: string;
  caughtBy: string;
  /** What differs from the right store. Called for each store that is opened. */
  spoil(right: InMemoryStore): Partial<ChunkStore>;
}

export const everySource: readonly string[] = ["memory", "sessions"];
