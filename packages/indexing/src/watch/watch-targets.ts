import { lstatSync, readdirSync, type Stats } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ignoredFolders } from "../files/ignored-folders.ts";
import { foldedName } from "../files/same-file.ts";
import { isShortage, type WatchTarget, WatchFailure } from "./folder-watches.ts";
import { networkFileSystem } from "./network-folder.ts";

/** A place where memory may stand, there or not. */
export interface WatchRoot {
  /** Absolute. */
  path: string;
  /** A `folder` may turn out to be a file. */
  kind: "file" | "folder";
  /** How the names of files that matter end, in lower case; `.md` unless given. */
  extension?: string | undefined;
}

const sliceMs = 5;

/**
 * Walks the roots and names every folder that has to be watched, each at least once, before what is in it is looked at.
 * Gives what is to be watched in each.
 */
export async function findFolders(
  roots: readonly WatchRoot[],
  options: {
    recursive: boolean;
    maxFolders: number;
    /** False once nobody wants the answer any more. */
    isWanted: () => boolean;
    found: (folder: string, target: WatchTarget, stats: Stats) => void;
  },
): Promise<Map<string, WatchTarget>> {
  const { recursive, maxFolders, isWanted } = options;
  const targets = new Map<string, WatchTarget>();
  let sliceStart = performance.now();

  function add(folder: string, stats: Stats, wanted: { recursive: boolean; extension?: string; name?: string }): void {
    const target = targets.get(folder) ?? { recursive: false, extensions: new Set<string>(), names: new Set<string>() };
    if (wanted.recursive) target.recursive = true;
    if (wanted.extension !== undefined) target.extensions.add(wanted.extension);
    if (wanted.name !== undefined) target.names.add(foldedName(wanted.name));
    if (targets.size >= maxFolders && !targets.has(folder))
      throw new WatchFailure(`there are more than ${maxFolders} folders`, "Name fewer of them in extraPaths");
    targets.set(folder, target);
    options.found(folder, target, stats);
  }

  for (const root of roots) {
    const stats = statOf(root.path);
    const isFolder = root.kind === "folder" && stats?.isDirectory() === true;
    // That a root was moved away, or is there again, shows in the folder above. Systems that watch whole trees tell it
    // themselves, and for them a folder above, the home folder maybe, is a whole tree too.
    const above = isFolder && recursive ? undefined : nearestFolder(root.path);
    if (above) add(above.folder, above.stats, { recursive: false, name: above.name });
    if (!isFolder) continue;
    const kind = networkFileSystem(root.path);
    if (kind !== undefined) {
      const reason = `${root.path} is on a ${kind} file system, which does not tell of changes made elsewhere`;
      throw new WatchFailure(reason, "Keep the notes on a local disk");
    }
    const waiting = [root.path];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const own = folder === root.path ? stats : statOf(folder);
      if (!own?.isDirectory()) continue;
      add(folder, own, { recursive, extension: root.extension ?? ".md" });
      if (recursive) break;
      waiting.push(...foldersIn(folder));
      if (performance.now() - sliceStart > sliceMs) {
        await nextTurn(undefined, { ref: false });
        if (!isWanted()) return targets;
        sliceStart = performance.now();
      }
    }
  }
  return targets;
}

/** The folder above a path that is there, and the entry in it that leads to the path. */
function nearestFolder(below: string): { folder: string; name: string; stats: Stats } | undefined {
  for (let child = below; ;) {
    const folder = path.dirname(child);
    // Nobody wants to hear of everything that happens on a whole disk.
    if (folder === child || path.dirname(folder) === folder) return undefined;
    const stats = statOf(folder);
    if (stats?.isDirectory()) return { folder, name: path.basename(child), stats };
    child = folder;
  }
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !ignoredFolders.has(entry.name))
      .map((entry) => path.join(folder, entry.name));
  } catch (error) {
    if (isShortage(error)) throw WatchFailure.of(error, folder);
    // Gone or closed to us: the sync says so.
    return [];
  }
}

export function statOf(absolutePath: string): Stats | undefined {
  try {
    return lstatSync(absolutePath);
  } catch {
    return undefined;
  }
}
