import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { ScoredChunk, VectorAnswer, VectorQuery, VectorSpace } from "@memslot/indexing";
import { allRows } from "../lance/arrow-rows.ts";
import { type Filter, oneOf } from "../lance/filter.ts";
import { type Listing, placeOf } from "../tables/listing.ts";
import { unit } from "../tables/spaces.ts";
import { askedOf } from "./asked.ts";

/** Texts that a filter names one by one, at most. Beyond, more is asked for than is wanted, until there is enough. */
const namedAtMost = 4000;
/** How many candidates of the quantised index are scored again from the exact numbers, for each that is wanted. */
const refineFactor = 2;
/** More than any index has: all of its partitions are looked at. */
const allPartitions = 4096;

/**
 * Finds the chunks that are nearest to a vector. A vector is stored once for a text, so which texts are asked for is told
 * by the listing: by name where they are few, otherwise by passing over what is not asked for until there is enough.
 */
export async function searchVectors(query: VectorQuery, table: Table, listing: Listing): Promise<VectorAnswer> {
  const { vector, scope, limit } = query;
  const asked = askedOf(query, listing);
  const places = listing.byHash();
  const rows = await table.countRows();
  const allowed = asked.filter === undefined ? places.keys() : hashesOf(asked.files);
  const names = [...allowed];
  if (names.length === 0 || rows === 0) return { rows: [] };
  const isNamed = names.length <= namedAtMost && names.length < rows / 2;
  const filter = isNamed ? oneOf("hash", names) : undefined;
  const matching = isNamed ? names.length : rows;
  // What the index of the vectors takes for near was learnt from all of them.
  const isExact = scope !== undefined;
  let found: ScoredChunk[] = [];
  for (let first = firstLimit(matching, Math.min(names.length, matching), limit); ; first *= 4) {
    const nearest = await nearestRows(table, vector, { filter, limit: first, isExact });
    found = nearest.flatMap(({ hash, _distance }) =>
      (places.get(hash) ?? [])
        .filter((chunk) => asked.has(chunk))
        .map((chunk) => ({ ...placeOf(chunk), score: 1 - _distance })),
    );
    if (found.length >= limit || nearest.length < first || first >= matching) break;
  }
  return { rows: found.toSorted(byScore).slice(0, limit) };
}

/** The same where the vectors are in memory: all are compared. */
export function compareVectors(
  query: VectorQuery,
  vectors: ReadonlyMap<string, Float32Array | undefined>,
  listing: Listing,
): VectorAnswer {
  const asked = askedOf(query, listing);
  const wanted = unit(query.vector);
  const places = listing.byHash();
  const rows = [...vectors].flatMap(([hash, vector = wanted]) => {
    const chunks = (places.get(hash) ?? []).filter((chunk) => asked.has(chunk));
    if (chunks.length === 0) return [];
    const score = product(vector, wanted);
    return chunks.map((chunk) => ({ ...placeOf(chunk), score }));
  });
  return { rows: rows.toSorted(byScore).slice(0, query.limit) };
}

function product(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += (left[index] as number) * (right[index] as number);
  return sum;
}

function hashesOf(files: readonly { chunks: readonly { hash: string }[] }[]): Set<string> {
  return new Set(files.flatMap(({ chunks }) => chunks.map(({ hash }) => hash)));
}

/** As many as are likely to hold enough of those that are wanted. */
function firstLimit(rows: number, wanted: number, limit: number): number {
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

/** Best first, and in the order of paths and lines where nothing else tells. */
export function byScore(left: ScoredChunk, right: ScoredChunk): number {
  if (left.score !== right.score) return right.score - left.score;
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine || (left.hash < right.hash ? -1 : 1);
}

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared with any. */
export function checkVector(vector: Float32Array, { provider, model, dimensions }: VectorSpace): void {
  const space = `the space ${provider}/${model}`;
  if (vector.length !== dimensions)
    throw new MemoryError("INVALID_ARGUMENT", `a vector has ${vector.length} numbers, ${space} has ${dimensions}`);
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0 || !Number.isFinite(squares))
    throw new MemoryError("INVALID_ARGUMENT", `a vector of ${space} is all zero or not finite`);
}
