import type { Dirent } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { visibleName } from "@memslot/core";
import { codeOf, listConfined } from "@memslot/core/files";

interface Entry {
  relPath: string;
  bytes: number;
  isFolder: boolean;
}

export async function entriesIn(workspaceDir: string, relPath: string, depth: number): Promise<Entry[] | undefined> {
  const place = path.join(await realpath(workspaceDir), relPath);
  let listed: Dirent[];
  try {
    // The target of a link is not part of the memory.
    if ((await realpath(place)) !== place || !(await lstat(place)).isDirectory()) return undefined;
    listed = listConfined(place);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
  const entries: Entry[] = [];
  for (const found of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = found;
    if (name.startsWith(".") || name === "node_modules") continue;
    const own = `${relPath}/${name}`;
    const isNote = found.isFile() && /\.md$/iu.test(name);
    if (!isNote && !found.isDirectory()) continue;
    const bytes = isNote ? (await lstat(path.join(place, name))).size : 0;
    entries.push({ relPath: own, bytes, isFolder: !isNote });
    if (!isNote && depth > 1) entries.push(...((await entriesIn(workspaceDir, own, depth - 1)) ?? []));
  }
  return entries;
}

export function shownFolder(shown: string, entries: readonly Entry[], beside: readonly Entry[]): string {
  const base = shown.replace(/\/+$/u, "");
  const all = [...(base === memoriesRoot ? beside : []), ...entries];
  const sizeOf = ({ relPath, bytes, isFolder }: Entry): number =>
    isFolder
      ? entries.filter((each) => each.relPath.startsWith(`${relPath}/`)).reduce((sum, each) => sum + each.bytes, 0)
      : bytes;
  const total = all.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines = all.map(
    (entry) =>
      `${sizeText(sizeOf(entry))}\t${visibleName(`${memoriesRoot}/${entry.relPath.replace(/^memory\//u, "")}`)}`,
  );
  return [
    `Here're the files and directories up to 2 levels deep in ${shown}, excluding hidden items and node_modules:`,
    `${sizeText(total)}\t${base}`,
    ...lines,
  ].join("\n");
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)}K` : `${(kilobytes / 1024).toFixed(1)}M`;
}

export const memoriesRoot = "/memories";

const besideMemory = new Set(["MEMORY.md", "memory.md", "USER.md"]);

/** The workspace path of a model's path: `/memories/x.md` is `memory/x.md`. Throws for any unusual spelling. */
export function workspacePath(given: string): string {
  const refused = (why: string): Error => new Error(`Path ${given} is not allowed: ${why}`);
  const parts = given.replace(/\/+$/u, "").split("/");
  if (parts[0] !== "" || `/${parts[1]}` !== memoriesRoot) throw refused(`it has to begin with ${memoriesRoot}`);
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (/[\\\u0000-\u001F]|%(?:2e|2f|5c|00|25)/iu.test(given))
    throw refused("it has a character that no name of a note has");
  const names = parts.slice(2);
  for (const name of names)
    if (name === "" || name.startsWith(".")) throw refused("no part of it may be empty or begin with a dot");
  const [first = "", ...rest] = names;
  return rest.length === 0 && besideMemory.has(first) ? first : ["memory", ...names].join("/");
}
