import { existsSync } from "node:fs";
import path from "node:path";
import { type MemorySearchResult, visibleName } from "@memslot/core";
import { sessionsFolder, type ResultLines } from "@memslot/indexing";

/** What paths are shown from, and where the files of a memory are. */
export interface Places {
  cwd: string;
  workspaceDir: string;
  stateDir: string;
  agentId: string;
}

/** The file of a result, as somebody in `cwd` opens it. */
export interface ShownPath {
  /** Relative to `cwd`, or absolute where it is not below. What is no file (a journal) has the name that the memory gives it. */
  name: string;
  /** Undefined where there is no such file. */
  absolutePath: string | undefined;
}

/** A result with where its file is. */
export interface PlacedResult extends ResultLines {
  path: ShownPath;
}

/** Where a result stands. Looks whether the file is there. */
export function shownPath(
  { path: name, source }: Pick<MemorySearchResult, "path" | "source">,
  places: Places,
): ShownPath {
  const absolutePath = [
    path.resolve(places.workspaceDir, name),
    ...(source === "sessions" ? [path.join(sessionsFolder(places), path.posix.basename(name))] : []),
  ].find((file) => existsSync(file));
  if (absolutePath === undefined) return { name, absolutePath };
  const relative = path.relative(places.cwd, absolutePath);
  if (path.isAbsolute(relative) || relative === ".." || relative.startsWith(`..${path.sep}`))
    return { name: absolutePath, absolutePath };
  // A name that begins with a dash would be an option to whoever is given it.
  return { name: relative.startsWith("-") ? `.${path.sep}${relative}` : relative, absolutePath };
}

/** Results with the places of their files. */
export function placeResults(results: readonly ResultLines[], places: Places): PlacedResult[] {
  return results.map((lines) => ({ ...lines, path: shownPath(lines.result, places) }));
}

/** `path:line` on one line, with nothing in it that a terminal obeys. */
export function pathAndLine({ name }: ShownPath, line: number | undefined): string {
  return visibleName(name) + (line === undefined ? "" : `:${line}`);
}
