import type { VectorSpace } from "../../chunk-store.ts";
import type { DeadVectors } from "../cache/dead-vectors.ts";
import type { EmbeddingCache } from "../cache/embedding-cache.ts";
import type { Eviction } from "../cache/eviction.ts";
import { type HashKey, toKey } from "../cache/hash-key.ts";
import type { Companion } from "../database/companion.ts";
import type { Transactions } from "../database/transactions.ts";
import { isBusy } from "../file/store-errors.ts";
import type { Generations } from "../generations/generations.ts";
import type { AdoptedVectors } from "./adopted-vectors.ts";
import type { EmbeddedChunks } from "./embedded-chunks.ts";
import type { OwedVectors } from "./owed-vectors.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Spaces } from "./spaces.ts";

/** So many chunks have to go before it is worth a look whether their vectors are too many. */
const removedBeforeLook = 64;

/** The vectors that are kept, as they and the chunks come and go. */
export interface KeptVectors {
  /** Takes vectors in. What they drive out goes at once, or with `tidy` where it is much. */
  put(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): void;
  /** In step with the chunks, inside the transaction that changes them. */
  listener: {
    added(chunk: { hash: HashKey }): void;
    removed(chunk: { hash: HashKey }): void;
    changed(): void;
  };
  /** Deletes a batch of what the cache holds too much. True: there may be more. */
  trim(): boolean;
  /** Does a piece of what can wait. True: there may be more. */
  tidy(): boolean;
}

/** `owed`: where what comes into the cache is owed to the store. */
export function createKeptVectors(input: {
  transactions: Transactions;
  generations: Generations;
  spaces: Spaces;
  cache: EmbeddingCache;
  eviction: Eviction;
  dead: DeadVectors;
  quarantine: Quarantine;
  adopted: AdoptedVectors;
  owed: OwedVectors | undefined;
  /** Whose chunks keep their vectors. */
  spacesInUse: Set<number>;
  embeddedChunks: () => EmbeddedChunks;
  companion: () => Pick<Companion, "embedded">;
}): KeptVectors {
  const { transactions, generations, spaces, spacesInUse, cache, eviction, dead, quarantine, adopted, owed } = input;
  const now = createClock();
  /** Texts of chunks that the transaction has taken out. */
  let gone: HashKey[] = [];
  let isTooMuch = false;
  /** Chunks that have gone since their vectors were looked at. */
  let removed = 0;
  let hasChanged = false;
  let mayBeDead = false;
  /** When what is being written now happens. */
  let turn: number | undefined;

  function trim(): boolean {
    try {
      return eviction.step();
    } catch (error) {
      // Another process writes for long. There will be another time.
      if (!isBusy(error)) throw error;
      return false;
    }
  }

  return {
    put(space, entries) {
      const chunks = input.embeddedChunks();
      const spaceId = transactions.write(() => {
        const id = spaces.add(space);
        owed?.note(id);
        const live = generations.live();
        const at = now();
        spaces.written(id, at);
        for (const { hash, vector } of entries) {
          const key = toKey(hash);
          cache.put(id, key, vector, at);
          quarantine.release(id, key);
          adopted.replaced(id, key);
          const owners = chunks.chunksWith(key);
          if (owners.length === 0) eviction.wake();
          for (const owner of owners) input.companion().embedded(id, owner, vector);
          if (owed && owners.some(({ generation }) => live.includes(generation))) owed.owe(id, key);
        }
        return id;
      });
      spacesInUse.add(spaceId);
      isTooMuch = trim() && trim();
    },
    listener: {
      added({ hash }) {
        cache.use(hash, (turn ??= now()));
        owed?.added(hash);
      },
      removed({ hash }) {
        cache.use(hash, (turn ??= now()));
        gone.push(hash);
        eviction.wake();
        removed++;
      },
      changed() {
        turn = undefined;
        hasChanged = true;
        quarantine.forgetGone();
        adopted.forgetGone(gone);
        gone = [];
      },
    },
    trim,
    tidy() {
      if (isTooMuch) return (isTooMuch = trim());
      if (hasChanged) {
        hasChanged = false;
        dead.note();
      }
      if (removed >= removedBeforeLook) {
        removed = 0;
        mayBeDead = true;
      }
      return (mayBeDead &&= dead.step());
    },
  };
}

/**
 * Milliseconds since 1970 that never come twice: of two things that happened one after the other, the later one has the
 * higher number, also within one millisecond.
 */
function createClock(): () => number {
  let last = 0;
  return () => (last = Math.max(Date.now(), last + 1));
}
