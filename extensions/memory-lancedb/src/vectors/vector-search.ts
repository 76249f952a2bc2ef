import type { ChunkIndex, ChunkRow, VectorQuery } from "@memslot/indexing";
import type { Table } from "@lancedb/lancedb";
import type { MemorySource } from "@memslot/core";
import { allRows } from "../tables/arrow-rows.ts";
import type { ChunkListing, ListedChunk } from "../tables/chunk-listing.ts";
import { allOf, anyOf, type Filter, not, oneOf } from "../tables/filter.ts";
import type { Generations } from "../generations.ts";
import type { IndexView } from "../index-view.ts";
import { isInScope } from "../words/path-scope.ts";
import type { Spaces } from "./spaces.ts";
import { checkVector } from "./vectors.ts";
import { createStaleRows, holdsSource, type StaleRows, type VectorListing } from "./vector-listing.ts";

/** Texts that a filter names one by one, at most. Beyond, more is asked for than is wanted, until there is enough. */
const namedAtMost = 4000;
/** So many rows of texts that are gone are passed over after the search: naming them makes it look at every row first. */
const passedOver = 100;
/** How many candidates of the quantised index are scored again from the exact numbers, for each that is wanted. */
const refineFactor = 2;
/** More than any index has: all of its partitions are looked at. */
const allPartitions = 4096;

/** Which rows of the vectors to look at. */
interface Choice {
  /** Undefined: all of them. */
  filter: Filter | undefined;
  /** Rows that pass the filter. */
  rows: number;
  /** Texts that are wanted. */
  wanted: number;
}

/**
 * Finds the chunks that are nearest to a vector. Sources and paths are filtered before LanceDB ranks: by the sources in
 * the rows, and by the texts themselves where a scope narrows them or a row is out of date.
 */
export function createVectorSearch(input: {
  spaces: Spaces;
  generations: Generations;
  view: IndexView;
}): ChunkIndex["searchVector"] {
  const { spaces, generations, view } = input;
  /** By space. */
  const staleRows = new Map<string, ReturnType<typeof createStaleRows>>();

  function staleOf(id: string, listing: ChunkListing, vectors: VectorListing): StaleRows {
    const find = staleRows.get(id) ?? createStaleRows();
    staleRows.set(id, find);
    return find(listing, vectors);
  }

  return async (query) => {
    checkVector(query.vector, query.space);
    const id = spaces.idOf(query.space);
    const { generation, active } = await view.read();
    const [vectors, table] = await Promise.all([spaces.listing(id), spaces.table(id)]);
    const isAsked = askedBy(query);
    // What the index of the vectors takes for near was learnt from all of them.
    const isScoped = query.scope !== undefined;
    const choice = choose(query, active, vectors, staleOf(id, active, vectors), isAsked);
    if (!table || choice.wanted === 0) return { rows: [] };

    const chunks = active.byHash();
    let found: (ListedChunk & { score: number })[] = [];
    for (let limit = firstLimit(choice, query.limit); ; limit *= 4) {
      const nearest = await nearestRows(table, query.vector, { filter: choice.filter, limit, isExact: isScoped });
      found = nearest.flatMap(({ hash, _distance }) =>
        (chunks.get(hash) ?? []).filter(isAsked).map((chunk) => ({ ...chunk, score: 1 - _distance })),
      );
      if (found.length >= query.limit || nearest.length < limit || limit >= choice.rows) break;
    }
    const best = uniqueChunks(found).toSorted(byScore).slice(0, query.limit);
    return { rows: await withTexts(generations, generation, best) };
  };
}

function askedBy({ sources, scope }: VectorQuery): (chunk: ListedChunk) => boolean {
  const asked = new Set(sources);
  return (chunk) => asked.has(chunk.source) && (scope === undefined || isInScope(chunk.path, scope));
}

function choose(
  { sources, scope }: VectorQuery,
  listing: ChunkListing,
  vectorListing: VectorListing,
  stale: StaleRows,
  isAsked: (chunk: ListedChunk) => boolean,
): Choice {
  const { vectors } = vectorListing;
  const asked = new Set<MemorySource>(sources);
  const combinations = vectorListing.bySources();
  const wantedCombinations = [...combinations.keys()].filter((combination) => holdsSource(combination, asked));
  const [missing, superfluous]: [string[], string[]] = [[], []];
  for (const [hash, actual] of stale) {
    const isMarked = holdsSource(vectors.get(hash) ?? "", asked);
    const isWanted = holdsSource(actual, asked);
    if (isWanted && !isMarked) missing.push(hash);
    if (isMarked && !isWanted) superfluous.push(hash);
  }
  if (scope) {
    const allowed: string[] = [];
    for (const [hash, chunks] of listing.byHash()) if (vectors.has(hash) && chunks.some(isAsked)) allowed.push(hash);
    if (allowed.length <= namedAtMost) return choiceOf(oneOf("hash", allowed), allowed.length, allowed.length);
    const others = new Set(vectors.keys()).difference(new Set(allowed));
    if (others.size <= namedAtMost)
      return choiceOf(others.size === 0 ? undefined : not(oneOf("hash", others)), allowed.length, allowed.length);
    return choiceOf(undefined, vectors.size, allowed.length);
  }
  // Where rows say something else than the chunks, and there are too many to name: all rows, and what is not asked for is passed over.
  if (missing.length + superfluous.length > namedAtMost) return choiceOf(undefined, vectors.size, vectors.size);
  const isAll = wantedCombinations.length === combinations.size;
  const marked = isAll ? undefined : oneOf("sources", wantedCombinations);
  const isNamed = superfluous.length > passedOver;
  const kept = isNamed ? allOf(...(marked ? [marked] : []), not(oneOf("hash", superfluous))) : marked;
  const filter = kept && missing.length > 0 ? anyOf(kept, oneOf("hash", missing)) : kept;
  let rows = missing.length - (isNamed ? superfluous.length : 0);
  for (const combination of wantedCombinations) rows += combinations.get(combination) ?? 0;
  return choiceOf(filter, rows, isNamed ? rows : rows - superfluous.length);
}

function choiceOf(filter: Filter | undefined, rows: number, wanted: number): Choice {
  return { filter, rows, wanted };
}

/** As many as are likely to hold enough of those that are wanted. */
function firstLimit({ rows, wanted }: Choice, limit: number): number {
  return Math.max(1, Math.min(rows, Math.ceil((limit * rows * (wanted < rows ? 1.5 : 1)) / wanted)));
}

interface NearRow {
  hash: string;
  _distance: number;
}

async function nearestRows(
  table: Table,
  vector: Float32Array,
  { filter, limit, isExact }: { filter: Filter | undefined; limit: number; isExact: boolean },
): Promise<NearRow[]> {
  const near = table.query().nearestTo(vector).distanceType("cosine").nprobes(allPartitions).refineFactor(refineFactor);
  const query = (isExact ? near.bypassVectorIndex() : near).select(["hash", "_distance"]).limit(limit);
  return await allRows<NearRow>(filter === undefined ? query : query.where(filter));
}

/** Two rows may have the vector of one text, where two processes have put it in at the same time. */
function uniqueChunks<Scored extends ListedChunk>(chunks: readonly Scored[]): Scored[] {
  return [...new Map(chunks.map((chunk) => [chunk.id, chunk])).values()];
}

function byScore(left: ListedChunk & { score: number }, right: ListedChunk & { score: number }): number {
  if (left.score !== right.score) return right.score - left.score;
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  return left.startLine - right.startLine || left.id - right.id;
}

/** Without those that another process has replaced meanwhile. */
async function withTexts(
  generations: Generations,
  generation: number,
  chunks: readonly (ListedChunk & { score: number })[],
): Promise<(ChunkRow & { score: number })[]> {
  const table = await generations.table(generation);
  if (!table || chunks.length === 0) return [];
  const query = table
    .query()
    .where(
      oneOf(
        "id",
        chunks.map(({ id }) => id),
      ),
    )
    .select(["id", "text", "context"]);
  const texts = new Map(
    (await allRows<{ id: number; text: string; context: string }>(query)).map((row) => [row.id, row]),
  );
  return chunks.flatMap(({ id, path, source, startLine, endLine, score }) => {
    const row = texts.get(id);
    return row ? [{ id, path, source, startLine, endLine, text: row.text, context: row.context, score }] : [];
  });
}
