import { isAbsolute, relative, resolve, sep } from "node:path";
import { canonicalPath } from "../config/paths.ts";
import type { MemorySearchResult } from "../contract/search.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import type { MemoryProviderStatus } from "../contract/status.ts";
import { notesLayout } from "../files/notes-layout.ts";

/** Where notes may stand. */
export interface NotePlaces {
  workspaceDir: string;
  extraPaths: MemorySearchSettings["extraPaths"];
  /** Whether the workspace is a folder of notes. */
  notes: MemorySearchSettings["notes"];
  /** What the plugin says that it reads: it may have folders of its own. */
  roots: () => MemoryProviderStatus["roots"];
}

/**
 * The path of a note as the contract writes it: relative to the workspace, with `/`, without a `.` or a needless `..`.
 * Undefined where it leads to no file in the workspace, in `extraPaths` or below what the plugin says that it reads.
 */
export function notePath(path: string, places: NotePlaces): string | undefined {
  const { workspaceDir, extraPaths, roots } = places;
  const file = resolve(workspaceDir, path);
  const written = relative(resolve(workspaceDir), file);
  if (written === "") return undefined;
  if (!isBelow(file, resolve(workspaceDir))) {
    const known = [...extraPaths.map(pathOf), ...(roots() ?? []).map((root) => root.path)];
    if (!isInOneOf(file, known, workspaceDir)) return undefined;
  }
  return written.split(sep).join("/");
}

/** The places of an agent's layout, and the workspace itself where it is a folder of notes. */
const ownRoots: ReadonlySet<string> = new Set(["MEMORY.md", "memory.md", "USER.md", "memory", "."]);

/**
 * Whether a note stands where others may read along, by its path as `notePath` gives it. In a folder of notes every note
 * is the owner's, but for what `extraPaths` or a plugin's own folders name.
 */
export function isInSharedPlace(path: string, places: NotePlaces): boolean {
  const { workspaceDir, extraPaths, roots, notes } = places;
  const file = resolve(workspaceDir, path);
  if (!isBelow(file, resolve(workspaceDir)) || notesLayout(workspaceDir, notes).layout !== "all") return true;
  const own = (roots() ?? []).filter(({ state, path: root }) => state === "indexed" && !ownRoots.has(root));
  return isInOneOf(file, [...extraPaths.map(pathOf), ...own.map((root) => root.path)], workspaceDir);
}

function pathOf(entry: MemorySearchSettings["extraPaths"][number]): string {
  return typeof entry === "string" ? entry : entry.path;
}

function isInOneOf(file: string, folders: readonly string[], workspaceDir: string): boolean {
  const known = folders.map((folder) => resolve(workspaceDir, folder));
  return known.some((root) => isBelow(file, root) || isBelow(file, canonicalPath(root) ?? root));
}

function isBelow(file: string, folder: string): boolean {
  const way = relative(folder, file);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The longest text of a result, in UTF-16 units: an answer is read by a model, and is to hold several. */
const longestSnippet = 700;

/**
 * A result with no more text than it may have. Whole lines are kept as long as one fits; where the text was that of all
 * the lines, the result ends with the last one that is left.
 */
export function withShortSnippet(result: MemorySearchResult): MemorySearchResult {
  const { snippet, startLine, endLine } = result;
  if (snippet.length <= longestSnippet) return result;
  const end = snippet.lastIndexOf("\n", longestSnippet);
  const kept = end > 0 ? snippet.slice(0, end) : firstCharacters(snippet);
  const isWhole = snippet.split("\n").length === endLine - startLine + 1;
  return { ...result, snippet: kept, endLine: isWhole ? startLine + kept.split("\n").length - 1 : endLine };
}

/** As many as fit, none of them cut in two. */
function firstCharacters(text: string): string {
  const cut = text.slice(0, longestSnippet);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}
