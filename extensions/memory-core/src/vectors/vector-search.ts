import type { IndexHealth, IndexVectorAnswer, VectorQuery } from "@memslot/indexing";
import {
  byScore,
  checkVector,
  type Companion,
  isFileFailure,
  type KnownSpace,
  type LedgerParts,
  readRows,
  reasonOf,
  type ScoredId,
  toVector,
} from "@memslot/indexing/ledger-tables";
import { countRows, createReadDirectory, createScopeFiles } from "./codes/code-directory.ts";
import { type CodeLayout, createCodeLayout, hasHoles, hasManyHoles } from "./codes/code-layout.ts";
import type { CodeScan } from "./codes/code-scan.ts";
import type { LaidOut } from "./codes/code-blocks.ts";
import { blockRows } from "./codes/code-vector.ts";
import { openVectorComparison, similarityTo, type VectorComparison } from "./engines/compare-vectors.ts";
import { createEngines, type VectorSettings } from "./engines/engines.ts";
import { layoutPart } from "./layout-part.ts";

/** So many chunks leave a quarter of an empty block. */
const removedBeforeLook = 64;
/** After so many times it is not the codes that are at fault. */
const mostDamages = 3;
const fewestDimensions = 8;
/** Vectors that are scored exactly: never fewer, and so many more than are asked for. */
const fewestRescored = 80;
const spareRescored = 60;

/** The half of an index that finds by meaning. */
export interface VectorSearch extends Pick<Companion, "wrote" | "embedded" | "useSpace" | "prepare"> {
  /** Deletes a piece of a generation. True: it did something. */
  drop(generation: number): boolean;
  holds(generation: number): boolean;
  searchVector(query: VectorQuery): IndexVectorAnswer;
  /** Mends a layout with many holes, stores bits that are missing, and reads codes. False: that was all. */
  tidy(isQuiet: boolean): boolean;
  /** Mends one with any. */
  compact(generation: number): void;
  part: Companion["parts"]["last"][number];
  health(): IndexHealth["vector"];
}

export function createVectorSearch(parts: LedgerParts & { settings: VectorSettings }): VectorSearch {
  const { db, transactions, generations, vectors } = parts;
  let compared: VectorComparison | undefined;
  const comparison = (): VectorComparison => (compared ??= openVectorComparison(db));
  const engines = createEngines(parts);
  const layout = createCodeLayout({ ...parts, leastForBits: parts.settings.leastForBits });
  const readDirectory = createReadDirectory(db);
  const scopeFiles = createScopeFiles(db, generations);
  /** The space to lay out for fast search. */
  let wanted: KnownSpace | undefined;
  /** Chunks that have gone since the layout was looked at. */
  let removed = 0;
  /** Whether codes are still to be compared with the vectors that there are. */
  let isUnchecked = true;
  /** So many have come that they are not to wait until nobody asks for anything. */
  let isCheckDue = false;
  /** Vectors that have come since that was so last. */
  let added = 0;
  let addedBeforeCheck = 2 * blockRows;
  /** Blocks may have come whose bits are not stored. */
  let lacksBits = false;
  /** Vectors that were put into the codes since that was so last. */
  let put = 0;
  /** The space that was searched, until its codes were all read, and the block to go on from. */
  let toRead: { spaceId: number; from: number } | undefined;
  /** A generation whose codes are not what was written. */
  let damaged: number | undefined;
  let damages = 0;

  function settle(generation: number): void {
    if (wanted && engines.engine().name === "wasm") layout.settle(generation, wanted, vectors.chunks());
  }

  function putIntoCodes(...what: Parameters<CodeLayout["put"]>): void {
    layout.put(...what);
    if (++put < blockRows) return;
    put = 0;
    lacksBits = true;
  }

  function layOutAnew(generation: number): void {
    const id = transactions.read(() => layout.named(generation)) ?? wanted?.id;
    const dimensions = id === undefined ? undefined : vectors.dimensionsOf(id);
    if (id === undefined || dimensions === undefined) return;
    vectors.chunks();
    layout.layOutAnew(generation, { id, dimensions });
    // Bits are chosen when nobody waits.
    isUnchecked = true;
  }

  /** Work on the codes of a space, inside a transaction; undefined where they cannot be relied on, or are not what was written. */
  function byCodes<Result>(
    generation: number,
    spaceId: number,
    work: (laidOut: LaidOut) => Result,
  ): Result | undefined {
    if (layout.held(generation) !== spaceId) return undefined;
    try {
      const tables = layout.tables(generation);
      const bits = layout.bitBlocks(generation);
      const directory = readDirectory(generation, tables);
      return work({ directory, tables, storedBits: bits.exists() ? bits : undefined });
    } catch (error) {
      if (isFileFailure(error)) throw error;
      damages++;
      if (damages > mostDamages) engines.giveUp(reasonOf(error));
      else damaged = generation;
      return undefined;
    }
  }

  /** The best by way of the codes; undefined where they cannot tell. Called inside a transaction. */
  function nearestByCodes(
    scan: CodeScan,
    generation: number,
    query: VectorQuery,
    spaceId: number,
  ): number[] | undefined {
    return byCodes(generation, spaceId, (laidOut) => {
      // So few are compared as fast one by one, and so short ones differ by less than codes can tell.
      if (countRows(laidOut.directory) < blockRows || query.vector.length < fewestDimensions) return undefined;
      const files = query.scope ? scopeFiles(generation, query) : undefined;
      const filter = { sources: query.sources, files };
      toRead = { spaceId, from: 0 };
      return scan.nearest(laidOut, { vector: query.vector, filter, limit: rescored(query.limit) });
    });
  }

  function nearest(generation: number, query: VectorQuery, spaceId: number): number[] | undefined {
    const engine = engines.engine();
    if (engine.name === "wasm") return nearestByCodes(engine.scan, generation, query, spaceId);
    if (engine.name === "exact") return undefined;
    try {
      return engine.compare(generation, query, spaceId, rescored(query.limit));
    } catch (error) {
      if (isFileFailure(error)) throw error;
      engines.giveUp(reasonOf(error));
      return undefined;
    }
  }

  function rank(generation: number, query: VectorQuery, spaceId: number): ScoredId[] {
    const similarity = similarityTo(query.vector);
    const ids = nearest(generation, query, spaceId);
    const scored = ids && comparison().some(spaceId, similarity, ids);
    if (ids && scored && (scored.length === ids.length || scored.length >= query.limit)) {
      engines.answered(engines.engine().name);
      return scored;
    }
    // Another process has taken vectors out of the cache.
    if (scored) isUnchecked = true;
    engines.answered("exact");
    return comparison().all(spaceId, similarity, generation, query);
  }

  function search(query: VectorQuery, spaceId: number): IndexVectorAnswer {
    vectors.chunks();
    // Dropped by an earlier release, or a build that took over without one. A process that wants another space keeps it:
    // the two would take turns for ever.
    const { id: answering } = generations.active();
    if (spaceId === wanted?.id && layout.held(answering) === undefined) settle(answering);
    const answer = transactions.read(() => {
      const ranked = rank(generations.active().id, query, spaceId);
      return { rows: readRows(db, ranked.toSorted(byScore).slice(0, query.limit)) };
    });
    mendDamaged();
    return answer;
  }

  function mendDamaged(): void {
    if (damaged !== undefined) layOutAnew(damaged);
    damaged = undefined;
  }

  /** Reads codes that searches have left out. Gives whether there are more. */
  function readMore(): boolean {
    const engine = engines.engine();
    if (toRead === undefined || engine.name !== "wasm") return false;
    const { spaceId, from } = toRead;
    const read = (laidOut: LaidOut): number | undefined => engine.scan.readMore(laidOut, from);
    const next = transactions.read(() => byCodes(generations.active().id, spaceId, read));
    mendDamaged();
    toRead = next === undefined ? undefined : { spaceId, from: next };
    return toRead !== undefined;
  }

  /** What was too long to look at before a search. False: there was nothing to look at. */
  function check(): boolean {
    if (!isUnchecked || !wanted || engines.engine().name !== "wasm") return false;
    const { id } = generations.active();
    const chunks = vectors.chunks();
    const isWrong = transactions.read(
      () => layout.held(id) === wanted?.id && (layout.lacksMean(id) || !layout.isWhole(id, chunks)),
    );
    if (isWrong) layOutAnew(id);
    [isUnchecked, isCheckDue] = [false, false];
    layout.chooseBits(id);
    lacksBits = true;
    return true;
  }

  /** Gives whether there are more to be stored. */
  function storeBits(): boolean {
    // A process that only reads leaves it to one that writes.
    if (!lacksBits || !transactions.hasWritten() || engines.engine().name !== "wasm") return false;
    const hasMore = layout.storeBits(generations.active().id);
    lacksBits = hasMore !== false;
    return hasMore === true;
  }

  function mendHoles(): void {
    const generation = transactions.read(() => {
      const { id } = generations.active();
      return layout.held(id) !== undefined && hasManyHoles(layout.tables(id).size()) ? id : undefined;
    });
    if (generation !== undefined) layOutAnew(generation);
  }

  return {
    useSpace(space) {
      const { id: answering } = generations.active();
      if (wanted?.id === space.id && layout.held(answering) === space.id) return;
      wanted = space;
      isUnchecked = true;
      settle(answering);
    },
    searchVector(query) {
      checkVector(query.vector, query.space);
      engines.engine();
      const spaceId = vectors.use(query.space);
      return spaceId === undefined ? { rows: [] } : search(query, spaceId);
    },
    wrote(generation, { gone, added: came }) {
      removed += gone.length;
      for (const { id } of gone) layout.remove(generation, id);
      const held = layout.named(generation);
      if (held === undefined) return;
      for (const { id, hash, source } of came) {
        const embedding = vectors.get(held, hash);
        if (embedding) putIntoCodes(generation, { id, source }, toVector(embedding));
      }
    },
    embedded(spaceId, { id, source, generation }, vector) {
      if (layout.named(generation) !== spaceId) return;
      putIntoCodes(generation, { id, source }, vector);
      if (++added < addedBeforeCheck) return;
      added = 0;
      addedBeforeCheck *= 2;
      [isUnchecked, isCheckDue] = [true, true];
    },
    prepare(generation) {
      if (!wanted) return;
      vectors.chunks();
      settle(generation);
    },
    drop: layout.drop,
    holds: layout.holds,
    tidy(isQuiet) {
      // It may have written: the file is recorded when it was left alone for a while.
      if ((isQuiet || isCheckDue) && check()) return true;
      if (removed >= removedBeforeLook) {
        removed = 0;
        mendHoles();
      }
      return storeBits() || (isQuiet && readMore());
    },
    compact(generation) {
      const isLoose = transactions.read(
        () => layout.held(generation) !== undefined && hasHoles(layout.tables(generation).size()),
      );
      if (isLoose) layOutAnew(generation);
    },
    part: layoutPart({ db, generations, layout: { ...layout, layOutAnew } }),
    health: engines.health,
  };
}

/** How many are scored exactly for an answer of so many. */
function rescored(limit: number): number {
  return Math.max(fewestRescored, limit + spareRescored);
}
