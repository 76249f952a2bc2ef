import type { KeywordQuery, PathScope } from "../../chunk-store.ts";

/** Parameters of `isAsked`: lists as JSON. */
export type FilterParameters = Record<
  "sources" | "withinPaths" | "withinFolders" | "withoutPaths" | "withoutFolders",
  string
> & { generation: number };

/** SQL: whether a search is about the file `f`. Paths are data: nothing in them is a pattern. */
export function isAsked(scoped: boolean): string {
  const condition = "f.generation = :generation AND f.source IN (SELECT value FROM json_each(:sources))";
  return scoped ? `${condition} AND ${isUnder("within")} AND NOT ${isUnder("without")}` : condition;
}

/** Paths are looked up, so that there may be thousands of them; folders are compared with one after the other. */
function isUnder(places: "within" | "without"): string {
  return `(f.path IN (SELECT value FROM json_each(:${places}Paths)) OR EXISTS (
    SELECT 1 FROM json_each(:${places}Folders) folder WHERE substr(f.path, 1, length(folder.value)) = folder.value))`;
}

export function filterParameters(
  generation: number,
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
): FilterParameters {
  const { within, without }: PathScope = scope ?? { within: [], without: [] };
  return {
    generation,
    sources: toJson(sources),
    withinPaths: toJson(within.filter(isPath)),
    withinFolders: toJson(within.filter(isFolder)),
    withoutPaths: toJson(without.filter(isPath)),
    withoutFolders: toJson(without.filter(isFolder)),
  };
}

/** The empty one stands for everything. */
function isFolder(place: string): boolean {
  return place === "" || place.endsWith("/");
}

function isPath(place: string): boolean {
  return !isFolder(place);
}

/** Half a character, as file systems allow it, stands in the database as the sign for a broken one. */
function toJson(texts: readonly string[]): string {
  return JSON.stringify(texts.map((text) => text.toWellFormed()));
}
