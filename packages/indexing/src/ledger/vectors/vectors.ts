import type { SpaceStats } from "../../index-row-types.ts";
import type { VectorCalls } from "../ledger.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type HashKey, toKey, toVector, checkVector, VectorCache } from "./vector-cache.ts";
import type { Companion, LedgerParts } from "../store-search-tables.ts";
import { hasTable } from "../file/schema.ts";
import { countChunks } from "../file-tables.ts";
import type { LedgerBase } from "../generations.ts";
import { StoreVectors } from "./external-store-vectors.ts";
import { createHashIndex, EmbeddedChunks, Spaces } from "./vector-spaces.ts";

/** Number of an unknown space; no vector belongs to it. */
const unknownSpace = 0;
const removedBeforeLook = 64;

export interface Vectors {
  calls: VectorCalls & StoreVectors["calls"];
  storeVectors: StoreVectors;
  cache: VectorCache;
  shared: LedgerParts["vectors"];
  /** Called inside the transaction that changes chunks. */
  listener: {
    wrote(chunks: { gone: readonly { hash: HashKey }[]; added: readonly { hash: HashKey }[] }): void;
    changed(): void;
  };
  tidy(): boolean;
}

export function createVectors(
  input: LedgerBase & {
    /** Called later, since the store extension is created with this result. */
    companion: () => Pick<Companion, "embedded" | "useSpace">;
    cacheMaxEntries: number;
    store: string;
    /** The store keeps its own vectors; new ones in the cache are pending for it. */
    keepsOwnVectors: boolean;
  },
): Vectors {
  const { db, transactions, generations, companion, store, keepsOwnVectors } = input;
  const spaces = new Spaces(db, store);
  const cache = new VectorCache({ ...input, maxEntries: input.cacheMaxEntries, prepare: chunks });
  const storeVectors = new StoreVectors({ ...input, spaces, cache, prepare: chunks });
  const now = createClock();
  let embeddedChunks: EmbeddedChunks | undefined;
  let mapPassages: ReturnType<(typeof import("./map-positions.ts"))["createMapPassages"]> | undefined;
  let gone: HashKey[] = [];
  let turn: number | undefined;
  let isTooMuch = false;
  let hasChanged = false;
  let removed = 0;
  let mayBeUnused = false;

  /** Call it outside of transactions: its index may have to be created. */
  function chunks(): EmbeddedChunks {
    if (!embeddedChunks && !hasTable(db, "chunks_by_hash")) transactions.write(() => db.exec(createHashIndex));
    return (embeddedChunks ??= new EmbeddedChunks(db, store));
  }

  const idOf = (space: VectorSpace): number => spaces.find(space) ?? unknownSpace;

  function isKnown(spaceId: number, hash: HashKey): boolean {
    return cache.has(spaceId, hash) || storeVectors.isImported(spaceId, hash);
  }

  function put(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): void {
    const embedded = chunks();
    const spaceId = transactions.write(() => {
      const id = spaces.add(space);
      if (keepsOwnVectors) storeVectors.note(id);
      const live = generations.live();
      const at = now();
      spaces.written(id, at);
      for (const { hash, vector } of entries) {
        const key = toKey(hash);
        cache.put(id, key, vector, at);
        spaces.release(id, key);
        storeVectors.replaced(id, key);
        const owners = embedded.chunksWith(key);
        if (owners.length === 0) cache.wake();
        for (const owner of owners) companion().embedded(id, owner, vector);
        if (keepsOwnVectors && owners.some(({ generation }) => live.includes(generation)))
          storeVectors.addPending(id, key);
      }
      return id;
    });
    cache.spacesInUse.add(spaceId);
    isTooMuch = cache.trim() && cache.trim();
  }

  function countIn(generation: number, spaceId: number | undefined): Required<Omit<SpaceStats, "nextPending">> {
    const all = countChunks(db, generation);
    if (spaceId === undefined) return { embedded: 0, pending: all, quarantined: 0 };
    const embedded = chunks().countEmbedded(spaceId, generation);
    const quarantined = spaces.countRefused(spaceId, generation);
    return { embedded, pending: all - embedded - quarantined, quarantined };
  }

  const calls: Vectors["calls"] = {
    ...storeVectors.calls,
    useSpace(space) {
      chunks();
      const spaceId = spaces.find(space) ?? transactions.write(() => spaces.add(space));
      cache.spacesInUse.add(spaceId);
      companion().useSpace({ id: spaceId, dimensions: space.dimensions });
    },
    pendingVectors(space, limit) {
      const embedded = chunks();
      const spaceId = idOf(space);
      return transactions.read(() => {
        const first = embedded.pending(spaceId, generations.active().id, limit);
        const next = generations.next();
        if (!next || first.length >= limit) return first;
        const hashes = new Set(first.map(({ hash }) => hash));
        const further = embedded.pending(spaceId, next.id, limit).filter(({ hash }) => !hashes.has(hash));
        return [...first, ...further].slice(0, limit);
      });
    },
    putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length > 0) put(space, entries);
    },
    knownVectors(space, hashes) {
      const spaceId = idOf(space);
      return transactions.read(() => hashes.filter((hash) => isKnown(spaceId, toKey(hash))));
    },
    quarantine(space, entries) {
      if (entries.length === 0) return;
      chunks();
      transactions.write(() => {
        const id = spaces.add(space);
        for (const { hash, reason } of entries) {
          const key = toKey(hash);
          if (!isKnown(id, key)) spaces.quarantine(id, key, reason);
        }
      });
    },
    quarantined: (space, limit) =>
      transactions.read(() => spaces.listRefused(idOf(space), generations.active().id, limit)),
    releaseQuarantine(space) {
      const id = spaces.find(space);
      if (id !== undefined) transactions.write(() => spaces.releaseAll(id));
    },
    spaces: () => spaces.list(),
    vectorOf(space, hash) {
      const id = spaces.find(space);
      const bytes = id === undefined ? undefined : cache.get(id, toKey(hash));
      return bytes && toVector(bytes).slice();
    },
    sampleVectors(space, count) {
      const embedded = chunks();
      return transactions.read(() => embedded.sample(idOf(space), generations.active().id, count));
    },
    async *mapPassages(asked) {
      // Rarely used: loads the word reader only when needed.
      const { createMapPassages } = await import("./map-positions.ts");
      chunks();
      mapPassages ??= createMapPassages(db);
      return yield* mapPassages(generations.active().id, asked.space && idOf(asked.space), asked);
    },
    spaceStats(space, within) {
      const spaceId = spaces.find(space);
      const embedded = spaceId === undefined && within === undefined ? undefined : chunks();
      return transactions.read(() => {
        const { id } = generations.active();
        if (within && embedded) return embedded.countWithin(spaceId ?? unknownSpace, id, within);
        const next = generations.next();
        return { ...countIn(id, spaceId), ...(next ? { nextPending: countIn(next.id, spaceId).pending } : {}) };
      });
    },
  };

  return {
    calls,
    storeVectors,
    cache,
    shared: {
      use(space) {
        const spaceId = spaces.find(space);
        if (spaceId !== undefined) cache.spacesInUse.add(spaceId);
        return spaceId;
      },
      dimensionsOf: (spaceId) => spaces.get(spaceId)?.dimensions,
      get: (spaceId, hash) => cache.get(spaceId, hash),
      chunks,
    },
    listener: {
      wrote({ gone: old, added }) {
        for (const { hash } of [...old, ...added]) cache.use(hash, (turn ??= now()));
        if (keepsOwnVectors) for (const { hash } of added) storeVectors.added(hash);
        gone.push(...old.map(({ hash }) => hash));
        if (old.length > 0) cache.wake();
        removed += old.length;
      },
      changed() {
        turn = undefined;
        hasChanged = true;
        spaces.forgetRefused();
        storeVectors.forgetGone(gone);
        gone = [];
      },
    },
    tidy() {
      if (isTooMuch) return (isTooMuch = cache.trim());
      if (hasChanged) {
        hasChanged = false;
        cache.noteChunks();
      }
      if (removed >= removedBeforeLook) {
        removed = 0;
        mayBeUnused = true;
      }
      return (mayBeUnused &&= cache.trimUnused());
    },
  };
}

/** A strictly increasing clock in milliseconds since 1970. */
function createClock(): () => number {
  let last = 0;
  return () => (last = Math.max(Date.now(), last + 1));
}
