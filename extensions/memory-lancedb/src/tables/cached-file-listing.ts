import type { Table } from "@lancedb/lancedb";
import type { FileChunks, FileFilter, FileKey, PathScope } from "@memslot/indexing";
import { allOf, type Filter, not, oneOf } from "../lance/filter.ts";
import { rowsOf } from "../lance/rows.ts";

/** Largest shared table that is kept in memory. */
export const inMemoryAtMost = 10_000;

export interface ListedChunk extends FileKey {
  startLine: number;
  hash: string;
  terms?: string | undefined;
}

export interface ListedFile extends FileKey {
  hash: string;
  recipe: string;
  chunks: readonly ListedChunk[];
}

export interface Replacement {
  file: FileChunks;
  fromLine: number;
}

export interface Written {
  version: number;
  replaced: readonly Replacement[];
  removed: readonly FileKey[];
}

export class Listing {
  readonly files: Map<string, ListedFile> = new Map();
  chunkCount: number = 0;
  version: number;
  hasWords: boolean;
  #byHash: Map<string, ListedChunk[]> | undefined;

  constructor(version: number, hasWords: boolean) {
    this.version = version;
    this.hasWords = hasWords;
  }

  byHash(): ReadonlyMap<string, readonly ListedChunk[]> {
    this.#byHash ??= Map.groupBy(
      [...this.files.values()].flatMap(({ chunks }) => chunks),
      ({ hash }) => hash,
    );
    return this.#byHash;
  }

  put(file: ListedFile): void {
    this.remove(file);
    this.files.set(keyOf(file), file);
    this.chunkCount += file.chunks.length;
  }

  remove(key: FileKey): void {
    this.chunkCount -= this.files.get(keyOf(key))?.chunks.length ?? 0;
    this.files.delete(keyOf(key));
    this.#byHash = undefined;
  }

  /** Follows a write of this process. False if another process has written in between: the table has to be read again. */
  apply({ version, replaced, removed }: Written): boolean {
    if (version !== this.version + 1) return false;
    this.version = version;
    for (const key of removed) this.remove(key);
    for (const { file, fromLine } of replaced) {
      const { path, source, hash, recipe } = file;
      const kept = this.files.get(keyOf(file))?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
      const added = file.chunks.map(({ startLine, hash: own, terms }) =>
        listedChunk([source, path, startLine, own], this.hasWords ? terms : undefined),
      );
      this.put({ path, source, hash, recipe, chunks: [...kept, ...added] });
    }
    this.hasWords &&= this.files.size + this.chunkCount <= inMemoryAtMost;
    return true;
  }
}

export function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}

export function placeOf({ source, path, startLine, hash }: ListedChunk): ListedChunk {
  return { source, path, startLine, hash };
}

/** The column `row` of a chunk: source, path, line and hash; of a file: source, path, and its hash and recipe. */
type ChunkRow = readonly [source: string, path: string, startLine: number, hash: string];
type FileRow = readonly [source: string, path: string, facts: Pick<ListedFile, "hash" | "recipe">];

export function chunkRow({ source, path, startLine, hash }: ListedChunk): string {
  return JSON.stringify([source, path, startLine, hash] satisfies ChunkRow);
}

export function fileRow({ source, path, hash, recipe }: Omit<ListedFile, "chunks">): string {
  return JSON.stringify([source, path, { hash, recipe }] satisfies FileRow);
}

export function chunkOf(row: string): ListedChunk | undefined {
  const parsed = JSON.parse(row) as ChunkRow | FileRow | null;
  return parsed && isChunk(parsed) ? listedChunk(parsed) : undefined;
}

function isChunk(row: ChunkRow | FileRow): row is ChunkRow {
  return typeof row[2] === "number";
}

function listedChunk([source, path, startLine, hash]: ChunkRow, terms?: string): ListedChunk {
  return { source, path, startLine, hash, ...(terms !== undefined && { terms }) };
}

export async function readListing(table: Table, version: number, keepsWords: boolean): Promise<Listing> {
  const hasWords = keepsWords && (await table.countRows()) <= inMemoryAtMost;
  const listing = new Listing(version, hasWords);
  const chunks: ListedChunk[] = [];
  const columns = hasWords ? ["row", "terms"] : ["row"];
  for await (const { row, terms } of rowsOf<{ row: string; terms?: string }>(table.query().select(columns))) {
    const parsed = JSON.parse(row) as ChunkRow | FileRow | null;
    if (parsed === null) continue;
    if (isChunk(parsed)) chunks.push(listedChunk(parsed, terms));
    else listing.put({ source: parsed[0], path: parsed[1], ...parsed[2], chunks: [] });
  }
  for (const [key, own] of Map.groupBy(chunks, keyOf)) {
    const file = listing.files.get(key);
    if (file) listing.put({ ...file, chunks: own });
  }
  return listing;
}

export interface Scope {
  files: readonly ListedFile[];
  chunkCount: number;
  filter: Filter | undefined;
  has(file: FileKey): boolean;
}

export function scopeOf({ sources, scope }: FileFilter, listing: Listing): Scope {
  const wanted = new Set<string>(sources);
  const inSources = [...listing.files.values()].filter(({ source }) => wanted.has(source));
  const isInside = scope === undefined ? () => true : insideOf(scope);
  const [inside, outside]: [Set<string>, Set<string>] = [new Set(), new Set()];
  for (const { path } of inSources) (isInside(path) ? inside : outside).add(path);
  const filters = [
    ...(inSources.length < listing.files.size ? [oneOf("source", wanted)] : []),
    ...(outside.size === 0 ? [] : [inside.size <= outside.size ? oneOf("path", inside) : not(oneOf("path", outside))]),
  ];
  const files = inSources.filter(({ path }) => inside.has(path));
  return {
    files,
    chunkCount: files.reduce((sum, { chunks }) => sum + chunks.length, 0),
    filter: filters.length === 0 ? undefined : allOf(...filters),
    has: ({ path, source }) => wanted.has(source) && inside.has(path),
  };
}

/** `isAsked` of the store contract, for scopes of thousands of paths. */
function insideOf({ within, without }: PathScope): (path: string) => boolean {
  const [inside, outside] = [within, without].map((places) => {
    const [paths, folders] = [new Set(places), places.filter((place) => place === "" || place.endsWith("/"))];
    return (path: string): boolean => paths.has(path) || folders.some((folder) => path.startsWith(folder));
  });
  return (path) => inside?.(path) === true && outside?.(path) === false;
}
