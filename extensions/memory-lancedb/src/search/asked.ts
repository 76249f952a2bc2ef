import type { FileFilter, FileKey, PathScope } from "@memslot/indexing";
import { allOf, type Filter, not, oneOf } from "../lance/filter.ts";
import type { ListedFile, Listing } from "../tables/listing.ts";

/** The files that a search is about, and the rows of their chunks. */
export interface Asked {
  files: readonly ListedFile[];
  chunkCount: number;
  /** Undefined: all rows. */
  filter: Filter | undefined;
  has(file: FileKey): boolean;
}

/** A scope is told by the shorter list of paths. */
export function askedOf({ sources, scope }: FileFilter, listing: Listing): Asked {
  const asked = new Set<string>(sources);
  const inSources = [...listing.files.values()].filter(({ source }) => asked.has(source));
  const isInside = scope === undefined ? () => true : insideOf(scope);
  const [inside, outside]: [Set<string>, Set<string>] = [new Set(), new Set()];
  for (const { path } of inSources) (isInside(path) ? inside : outside).add(path);
  const filters = [
    ...(inSources.length < listing.files.size ? [oneOf("source", asked)] : []),
    ...(outside.size === 0 ? [] : [inside.size <= outside.size ? oneOf("path", inside) : not(oneOf("path", outside))]),
  ];
  const files = inSources.filter(({ path }) => inside.has(path));
  return {
    files,
    chunkCount: files.reduce((sum, { chunks }) => sum + chunks.length, 0),
    filter: filters.length === 0 ? undefined : allOf(...filters),
    has: ({ path, source }) => asked.has(source) && inside.has(path),
  };
}

/** As `isAsked` of the contract tells it, for scopes of thousands of paths. */
function insideOf({ within, without }: PathScope): (path: string) => boolean {
  const [inside, outside] = [placesOf(within), placesOf(without)];
  return (path) => inside(path) && !outside(path);
}

function placesOf(places: readonly string[]): (path: string) => boolean {
  const isFolder = (place: string): boolean => place === "" || place.endsWith("/");
  const [paths, folders] = [new Set(places), places.filter(isFolder)];
  return (path) => paths.has(path) || folders.some((folder) => path.startsWith(folder));
}
