import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { ScoredChunk, VectorAnswer, VectorQuery, VectorSpace } from "@memslot/indexing";
import { type Filter, oneOf } from "../lance/filter.ts";
import { allRows } from "../lance/rows.ts";
import { type Listing, placeOf, type Scope, scopeOf } from "../tables/cached-file-listing.ts";
import { unit } from "../tables/vector-tables.ts";

/** A filter names at most so many texts. Beyond, the search reads more rows than wanted, until enough are in the scope. */
const namedAtMost = 4000;
/** Candidates of the quantised index that are scored again from the exact numbers, for each one that is wanted. */
const refineFactor = 2;
/** More than any index has: all partitions are searched. */
const allPartitions = 4096;

/** Finds the nearest chunks with LanceDB. A vector is stored once for a text; the listing says which chunks have the text. */
export async function searchVectors(query: VectorQuery, table: Table, listing: Listing): Promise<VectorAnswer> {
  const { vector, limit } = query;
  const scope = scopeOf(query, listing);
  const places = listing.byHash();
  const rows = await table.countRows();
  const inScope = scope.files.flatMap(({ chunks }) => chunks.map(({ hash }) => hash));
  const names = scope.filter === undefined ? [...places.keys()] : [...new Set(inScope)];
  if (names.length === 0 || rows === 0) return { rows: [] };
  const isNamed = names.length <= namedAtMost && names.length < rows / 2;
  const filter = isNamed ? oneOf("hash", names) : undefined;
  const matching = isNamed ? names.length : rows;
  // The index was trained on all vectors: within a scope, nothing may depend on those outside.
  const isExact = query.scope !== undefined;
  const wanted = Math.min(names.length, matching);
  const first = Math.ceil((limit * matching * (wanted < matching ? 1.5 : 1)) / wanted);
  for (let asked = Math.max(1, Math.min(matching, first)); ; asked *= 4) {
    const nearest = await nearestRows(table, vector, { filter, limit: asked, isExact });
    const found = nearest.flatMap(({ hash, _distance }) => chunksOf(hash, 1 - _distance, listing, scope));
    if (found.length >= limit || nearest.length < asked || asked >= matching) return { rows: best(found, limit) };
  }
}

export function compareVectors(
  query: VectorQuery,
  vectors: ReadonlyMap<string, Float32Array | undefined>,
  listing: Listing,
): VectorAnswer {
  const scope = scopeOf(query, listing);
  const wanted = unit(query.vector);
  const rows = [...vectors].flatMap(([hash, vector = wanted]) =>
    chunksOf(hash, product(vector, wanted), listing, scope),
  );
  return { rows: best(rows, query.limit) };
}

function chunksOf(hash: string, score: number, listing: Listing, scope: Scope): ScoredChunk[] {
  const chunks = listing.byHash().get(hash) ?? [];
  return chunks.filter((chunk) => scope.has(chunk)).map((chunk) => ({ ...placeOf(chunk), score }));
}

function best(rows: readonly ScoredChunk[], limit: number): ScoredChunk[] {
  return rows.toSorted(byScore).slice(0, limit);
}

function product(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += (left[index] as number) * (right[index] as number);
  return sum;
}

async function nearestRows(
  table: Table,
  vector: Float32Array,
  { filter, limit, isExact }: { filter: Filter | undefined; limit: number; isExact: boolean },
): Promise<{ hash: string; _distance: number }[]> {
  const near = table.query().nearestTo(vector).distanceType("cosine").nprobes(allPartitions).refineFactor(refineFactor);
  const query = (isExact ? near.bypassVectorIndex() : near).select(["hash", "_distance"]).limit(limit);
  return await allRows(filter === undefined ? query : query.where(filter));
}

export function byScore(left: ScoredChunk, right: ScoredChunk): number {
  if (left.score !== right.score) return right.score - left.score;
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine || (left.hash < right.hash ? -1 : 1);
}

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared. */
export function checkVector(vector: Float32Array, { provider, model, dimensions }: VectorSpace): void {
  const space = `the space ${provider}/${model}`;
  if (vector.length !== dimensions)
    throw new MemoryError("INVALID_ARGUMENT", `a vector has ${vector.length} numbers, ${space} has ${dimensions}`);
  const squares = product(vector, vector);
  if (squares === 0 || !Number.isFinite(squares))
    throw new MemoryError("INVALID_ARGUMENT", `a vector of ${space} is all zero or not finite`);
}
