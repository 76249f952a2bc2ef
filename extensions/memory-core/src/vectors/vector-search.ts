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
import { countRows, createReadDirectory, createScopeFiles } from "./quantized/block-directory.ts";
import { type CodeLayout, createCodeLayout, hasHoles, hasManyHoles } from "./quantized/code-layout.ts";
import type { CodeScan } from "./quantized/code-scan.ts";
import type { LaidOut } from "./quantized/code-block-cache.ts";
import { blockRows } from "./quantized/quantize-vector.ts";
import { openVectorComparison, similarityTo, type VectorComparison } from "./engines/compare-vectors.ts";
import { createEngines, type VectorSettings } from "./engines/engines.ts";
import { layoutPart } from "./check-vector-layout.ts";

const removedBeforeLook = 64;
const mostDamages = 3;
const fewestDimensions = 8;
/** Minimum number of exactly scored vectors, and factor over the requested number. */
const fewestRescored = 80;
const spareRescored = 60;

export interface VectorSearch extends Pick<Companion, "wrote" | "embedded" | "useSpace" | "prepare"> {
  drop(generation: number): boolean;
  holds(generation: number): boolean;
  searchVector(query: VectorQuery): IndexVectorAnswer;
  tidy(isQuiet: boolean): boolean;
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
  let wanted: KnownSpace | undefined;
  let removed = 0;
  let isUnchecked = true;
  let isCheckDue = false;
  let added = 0;
  let addedBeforeCheck = 2 * blockRows;
  let lacksBits = false;
  let put = 0;
  let toRead: { spaceId: number; from: number } | undefined;
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
    // Bits are chosen when idle.
    isUnchecked = true;
  }

  /** Runs work on the codes of a space inside a transaction; undefined if they are unreliable or damaged. */
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

  /** Best matches by codes; undefined if inconclusive. Called inside a transaction. */
  function nearestByCodes(
    scan: CodeScan,
    generation: number,
    query: VectorQuery,
    spaceId: number,
  ): number[] | undefined {
    return byCodes(generation, spaceId, (laidOut) => {
      // Few vectors are as fast without codes, and short ones differ too little.
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
    // Another process has removed vectors.
    if (scored) isUnchecked = true;
    engines.answered("exact");
    return comparison().all(spaceId, similarity, generation, query);
  }

  function search(query: VectorQuery, spaceId: number): IndexVectorAnswer {
    vectors.chunks();
    // Dropped by an earlier release or a build without layout. Another space stays, or two processes would alternate.
    const { id: answering } = generations.active();
    if (spaceId === wanted?.id && layout.held(answering) === undefined) settle(answering);
    const answer = transactions.read(() => {
      const ranked = rank(generations.active().id, query, spaceId);
      return { rows: readRows(db, ranked.toSorted(byScore).slice(0, query.limit)) };
    });
    repairDamaged();
    return answer;
  }

  function repairDamaged(): void {
    if (damaged !== undefined) layOutAnew(damaged);
    damaged = undefined;
  }

  function readMore(): boolean {
    const engine = engines.engine();
    if (toRead === undefined || engine.name !== "wasm") return false;
    const { spaceId, from } = toRead;
    const read = (laidOut: LaidOut): number | undefined => engine.scan.readMore(laidOut, from);
    const next = transactions.read(() => byCodes(generations.active().id, spaceId, read));
    repairDamaged();
    toRead = next === undefined ? undefined : { spaceId, from: next };
    return toRead !== undefined;
  }

  /** A check too long for a search. False: nothing to check. */
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

  function storeBits(): boolean {
    // A reading process leaves this to writers.
    if (!lacksBits || !transactions.hasWritten() || engines.engine().name !== "wasm") return false;
    const hasMore = layout.storeBits(generations.active().id);
    lacksBits = hasMore !== false;
    return hasMore === true;
  }

  function repairHoles(): void {
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
      // The checksum is recorded after a quiet period.
      if ((isQuiet || isCheckDue) && check()) return true;
      if (removed >= removedBeforeLook) {
        removed = 0;
        repairHoles();
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

function rescored(limit: number): number {
  return Math.max(fewestRescored, limit + spareRescored);
}
