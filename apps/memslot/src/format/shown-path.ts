import { existsSync } from "node:fs";
import path from "node:path";
import { type MemorySearchResult, visibleName } from "@memslot/core";
import { sessionsFolder, type ResultLines } from "@memslot/indexing";

/** The current folder, and the folders of a memory. */
export interface Places {
  cwd: string;
  workspaceDir: string;
  stateDir: string;
  agentId: string;
}

export interface ShownPath {
  /** Relative to `cwd`, or absolute outside it. A result without a file (a journal) keeps its name in the memory. */
  name: string;
  /** Undefined if there is no such file. */
  absolutePath: string | undefined;
}

export interface PlacedResult extends ResultLines {
  path: ShownPath;
}

/** The path of a result. Checks that the file exists. */
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
  // A name with a leading dash would be read as an option.
  return { name: relative.startsWith("-") ? `.${path.sep}${relative}` : relative, absolutePath };
}

export function placeResults(results: readonly ResultLines[], places: Places): PlacedResult[] {
  return results.map((lines) => ({ ...lines, path: shownPath(lines.result, places) }));
}

/** `path:line` on one line, without control characters. */
export function pathAndLine({ name }: ShownPath, line: number | undefined): string {
  return visibleName(name) + (line === undefined ? "" : `:${line}`);
}
