import type { FileKey, KeywordQuery, PathScope } from "@memslot/indexing";
import { type ChunkListing } from "../tables/chunk-listing.ts";
import { allOf, type Filter, not, oneOf } from "../tables/filter.ts";

/** Looked up by place, as there may be thousands of them. */
interface Places {
  paths: ReadonlySet<string>;
  folders: readonly string[];
}

const known = new WeakMap<readonly string[], Places>();

/** True for a path that is within and not without. */
export function isInScope(path: string, { within, without }: PathScope): boolean {
  return isAt(path, placesOf(within)) && !isAt(path, placesOf(without));
}

function placesOf(places: readonly string[]): Places {
  const made = known.get(places);
  if (made) return made;
  const whole = places.map((place) => place.toWellFormed());
  const isFolder = (place: string): boolean => place === "" || place.endsWith("/");
  const split = { paths: new Set(whole.filter((place) => !isFolder(place))), folders: whole.filter(isFolder) };
  known.set(places, split);
  return split;
}

function isAt(path: string, { paths, folders }: Places): boolean {
  return paths.has(path) || folders.some((folder) => path.startsWith(folder));
}

/** True for a chunk of the sources and of the scope that a search names. */
export function isAsked(
  { path, source }: FileKey,
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
): boolean {
  return sources.includes(source) && (scope === undefined || isInScope(path, scope));
}

/** The rows of chunks that a search is about. Undefined where no file is; a scope is told by the shorter list of paths. */
export function askedRows(
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
  listing: ChunkListing,
): { filter: Filter | undefined } | undefined {
  const asked = new Set(sources);
  const inSources = [...listing.files.values()].filter(({ source }) => asked.has(source));
  if (inSources.length === 0) return undefined;
  const bySource = inSources.length === listing.files.size ? [] : [oneOf("source", asked)];
  if (!scope) return { filter: bySource.length === 0 ? undefined : allOf(...bySource) };
  const [inside, outside]: [Set<string>, Set<string>] = [new Set(), new Set()];
  for (const { path } of inSources) (isInScope(path, scope) ? inside : outside).add(path);
  if (inside.size === 0) return undefined;
  if (outside.size === 0) return { filter: bySource.length === 0 ? undefined : allOf(...bySource) };
  const byPath = inside.size <= outside.size ? oneOf("path", inside) : not(oneOf("path", outside));
  return { filter: allOf(...bySource, byPath) };
}
