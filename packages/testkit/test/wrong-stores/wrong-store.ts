import type { ChunkStore } from "@memslot/indexing";

/** A store that keeps its contract but for one fault, and the check that has to notice. */
export interface WrongStore {
  fault: string;
  caughtBy: string;
  spoil(right: ChunkStore): Partial<ChunkStore>;
}

export const everySource: readonly string[] = ["memory", "sessions"];
