import type { IndexHealth, IndexVectorAnswer, VectorQuery } from "@memslot/indexing";
import {
  byScore,
  checkVector,
  type Companion,
  type KnownSpace,
  type LedgerParts,
  toVector,
} from "@memslot/indexing/ledger-tables";
import { openVectorComparison, similarityTo, type VectorComparison } from "./compare-vectors.ts";
import { createFastLayout } from "./fast-layout.ts";
import { layoutPart } from "./layout-part.ts";
import { hasHoles, hasManyHoles } from "./vector-index.ts";

/** So many chunks leave half an empty block in the layout. */
const removedBeforeLook = 64;

/** The half of an index that finds by meaning. */
export interface VectorSearch extends Pick<
  Companion,
  "added" | "removed" | "embedded" | "useSpace" | "prepare" | "drop" | "holds"
> {
  searchVector(query: VectorQuery): IndexVectorAnswer;
  /** Loads sqlite-vec. */
  probeVector(): boolean;
  /** Mends a layout with many holes. False: that was all. */
  tidy(): false;
  /** Mends one with any. */
  compact(generation: number): void;
  part: Companion["parts"]["last"][number];
  health(): IndexHealth["vector"];
}

export function createVectorSearch(
  parts: LedgerParts & { settings: { enabled: boolean; extensionPath?: string | undefined } },
): VectorSearch {
  const { db, transactions, generations, vectors } = parts;
  let compared: VectorComparison | undefined;
  const comparison = (): VectorComparison => (compared ??= openVectorComparison(db));
  const fast = createFastLayout({ ...parts, comparison });
  /** The space to lay out for fast search. */
  let wanted: KnownSpace | undefined;
  /** Chunks that have gone since the layout was looked at. */
  let removed = 0;

  function search(query: VectorQuery, spaceId: number): IndexVectorAnswer {
    const similarity = similarityTo(query.vector);
    const chunks = vectors.chunks();
    // Dropped by a process without sqlite-vec, or a build that took over without one. A process that wants another space
    // keeps it: the two would take turns for ever.
    const { id: answering } = generations.active();
    if (spaceId === wanted?.id && fast.held(answering) === undefined) fast.settle(answering, wanted, chunks);
    return transactions.read(() => {
      const generation = generations.active().id;
      // Of a few files the nearest may lie behind any number of others: all of theirs are compared.
      const nearest = query.scope ? undefined : fast.rank(generation, query, spaceId, similarity);
      const ranked = nearest ?? comparison().all(spaceId, similarity, generation, query);
      return { rows: parts.readRows(ranked.toSorted(byScore).slice(0, query.limit)) };
    });
  }

  function layOutAnew(generation: number): void {
    const id = transactions.read(() => fast.held(generation));
    const dimensions = id === undefined ? undefined : vectors.dimensionsOf(id);
    transactions.write(() => fast.distrust(generation));
    if (id !== undefined && dimensions !== undefined) fast.settle(generation, { id, dimensions }, vectors.chunks());
  }

  function mendHoles(): void {
    const generation = transactions.read(() => {
      const { id } = generations.active();
      const size = fast.held(id) === undefined ? undefined : fast.size(id);
      return size && hasManyHoles(size.rows, size.blocks) ? id : undefined;
    });
    if (generation !== undefined) layOutAnew(generation);
  }

  return {
    useSpace(space) {
      const { id: answering } = generations.active();
      if (wanted?.id === space.id && fast.held(answering) === space.id) return;
      wanted = space;
      fast.settle(answering, space, vectors.chunks());
    },
    searchVector(query) {
      checkVector(query.vector, query.space);
      const spaceId = vectors.use(query.space);
      return spaceId === undefined ? { rows: [] } : search(query, spaceId);
    },
    probeVector: () => fast.isLoaded(),
    added({ id, hash, source, generation }) {
      fast.follow(generation, (index, held) => {
        const embedding = vectors.get(held, hash);
        if (embedding) index.put(id, source, toVector(embedding));
      });
    },
    removed({ id, generation }) {
      removed++;
      fast.follow(generation, (index) => index.remove(id));
    },
    embedded(spaceId, { id, source, generation }, vector) {
      if (fast.held(generation) === spaceId) fast.follow(generation, (index) => index.put(id, source, vector));
    },
    prepare(generation) {
      if (wanted) fast.settle(generation, wanted, vectors.chunks());
    },
    drop: fast.drop,
    holds: fast.holds,
    tidy() {
      if (removed >= removedBeforeLook) {
        removed = 0;
        mendHoles();
      }
      return false;
    },
    compact(generation) {
      const isLoose = transactions.read(() => {
        const size = fast.held(generation) === undefined ? undefined : fast.size(generation);
        return size !== undefined && hasHoles(size.rows, size.blocks);
      });
      if (isLoose) layOutAnew(generation);
    },
    part: layoutPart({ db, generations, layout: { held: fast.held, layOutAnew } }),
    health: fast.health,
  };
}
