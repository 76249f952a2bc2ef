import type { ChunkIndex } from "@memslot/indexing";
import type { FullIndex } from "../remembering-indexes.ts";

/** An index that keeps its contract but for one fault, and the check that has to notice. */
export interface WrongIndex {
  fault: string;
  caughtBy: string;
  /** What differs from the right index. Called for each one that is opened. */
  spoil(right: FullIndex): Partial<ChunkIndex>;
}
