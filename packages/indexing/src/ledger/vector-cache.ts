import type { ChunkIndex } from "../chunk-index.ts";
import type { VectorSpace } from "../chunk-store.ts";
import type { LedgerOptions } from "./ledger.ts";
import { openThread } from "./thread/open-thread.ts";
import { putVectors, threadCalls } from "./thread/thread-calls.ts";

/** The vectors of a ledger, for another store of the same notes: what either has embedded, neither has to embed again. */
export interface VectorCache extends Pick<ChunkIndex, "spaces" | "putVectors" | "close"> {
  /** Of those of the hashes that have one. */
  vectorsOf(space: VectorSpace, hashes: readonly string[]): Promise<{ hash: string; vector: Float32Array }[]>;
  /** One line each: why the file itself is not used. */
  notices(): readonly string[];
}

/** Opens the vectors of a ledger. Files are opened, left alone and set aside as those of a whole one are. */
export async function openVectorCache(
  options: Pick<LedgerOptions, "path" | "mayCreate" | "owner" | "cacheMaxEntries" | "signal">,
): Promise<VectorCache> {
  const thread = await openThread({ ...options, store: "memory-core" });
  const { read } = threadCalls(thread);
  return {
    spaces: () => read("spaces"),
    vectorsOf: (space, hashes) => read("vectorsOf", space, hashes),
    putVectors: (space, entries) => putVectors(thread, space, entries),
    notices: () => thread.health().notices,
    close: () => thread.client.close(),
  };
}
