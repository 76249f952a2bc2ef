import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { countFitting, type PackedText, packText, type ProviderLimits, type RequestLimits } from "../requests/pack.ts";

/** The texts that a space misses, read from the store as they are needed. */
export interface PendingQueue {
  /** Texts for one request, at least one; none when nothing is left. May be called while others are waiting. */
  take(limits: RequestLimits): Promise<PackedText[]>;
  /** These have their vector, or never get one: they are not given again. */
  settle(hashes: Iterable<string>): void;
  /** These are still without a vector and not on their way any more: they are given again, if the store names them. */
  giveAgain(hashes: Iterable<string>): void;
}

/** Gives each text once, however often the store names it. `accept` says which ones are wanted. */
export function createPendingQueue(input: {
  store: Pick<ChunkIndex, "pendingVectors">;
  space: VectorSpace;
  provider: ProviderLimits;
  /** Texts to read at a time. */
  pageSize: number;
  accept?: ((hash: string) => boolean) | undefined;
}): PendingQueue {
  const { store, space, provider, pageSize, accept } = input;
  const waiting: PackedText[] = [];
  /** Read, and still without a vector as far as the store knows. */
  const open = new Set<string>();
  const settled = new Set<string>();
  let isExhausted = false;
  let reading: Promise<void> | undefined;

  async function readPage(): Promise<void> {
    const before = open.size;
    for (const chunk of await store.pendingVectors(space, open.size + pageSize)) {
      if (open.has(chunk.hash) || settled.has(chunk.hash)) continue;
      open.add(chunk.hash);
      if (accept?.(chunk.hash) ?? true) waiting.push(packText(chunk, provider));
    }
    isExhausted = open.size === before;
  }

  return {
    async take(limits) {
      for (;;) {
        const count = countFitting(waiting, limits);
        if (count < waiting.length || isExhausted) return waiting.splice(0, count);
        reading ??= readPage().finally(() => (reading = undefined));
        await reading;
      }
    },
    settle(hashes) {
      for (const hash of hashes) {
        open.delete(hash);
        settled.add(hash);
      }
    },
    giveAgain(hashes) {
      for (const hash of hashes) open.delete(hash);
      isExhausted = false;
    },
  };
}
