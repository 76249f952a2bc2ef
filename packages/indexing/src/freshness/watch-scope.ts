import type { Stats } from "node:fs";
import path from "node:path";
import {
  foldedName,
  type FolderRules,
  folderRules,
  unlessUnreadable,
  ignoredFolders,
  markdownEndings,
} from "../scan/folder-rules.ts";

/** A place where memory may stand, there or not. */
export interface WatchRoot {
  path: string;
  /** A `folder` may turn out to be a file. */
  kind: "file" | "folder";
  /** How the names of files that matter end, in lower case; as those of Markdown unless given. */
  extension?: string | undefined;
  /** A folder of notes: its excluded files and the state folder are not watched. */
  notesBut?: string | undefined;
}

/** Decides what is watched for some roots. */
export interface WatchScope {
  /** `watched`: in a root. `reported`: reported by its folder's watch. `elsewhere`: outside, or a tool folder. */
  lookAt(file: string, stats: Stats | undefined): "watched" | "reported" | "elsewhere";
  /** Whether a run has to follow what the system tells of a watched folder or file and a name in it. */
  concerns(watched: string, name: string | null): boolean;
  /** Whether what is watched has to be chosen again: what a folder of notes leaves out has changed. */
  changesRules(watched: string, name: string | null): boolean;
}

export function createWatchScope(roots: readonly WatchRoot[]): WatchScope {
  const places = roots.map((root) => ({
    ...root,
    endings: root.extension === undefined ? markdownEndings : [root.extension],
    leavesOut: root.notesBut === undefined ? undefined : leavesOutFolder(root.path, root.notesBut),
    inside: root.path.endsWith(path.sep) ? root.path : root.path + path.sep,
  }));
  const rootNames = new Set(roots.map((root) => foldedName(root.path)));
  const isRoot = (file: string): boolean => rootNames.has(foldedName(file));

  /** The roots that something is in. A folder of a tool may be a root, or above one. */
  function placesOf(file: string): typeof places {
    return places.filter(
      ({ kind, inside }) =>
        kind === "folder" &&
        file.startsWith(inside) &&
        !file
          .slice(inside.length)
          .split(path.sep)
          .some((part) => ignoredFolders.has(part)),
    );
  }

  return {
    // chokidar writes `/` everywhere.
    lookAt(given, stats) {
      const file = path.normalize(given);
      if (isRoot(file)) return "watched";
      const places = placesOf(file);
      if (places.length === 0) return "elsewhere";
      if (stats !== undefined && !stats.isDirectory()) return "reported";
      // A folder of notes applies its exclusions to folders; other roots may need them.
      const isWanted = stats === undefined || isAbove(file) || places.some(({ leavesOut }) => !leavesOut?.(file));
      return isWanted ? "watched" : "elsewhere";
    },

    changesRules(watched, name) {
      const file = path.resolve(watched, name ?? "");
      return path.basename(file) === ".gitignore" && placesOf(file).some(({ notesBut }) => notesBut !== undefined);
    },

    concerns(watched, name) {
      // A dropped or unnamed event, or one about the watched folder itself.
      if (name === null || name === "" || name === path.basename(watched)) return true;
      const file = path.resolve(watched, name);
      return (
        isRoot(file) ||
        placesOf(file).some(({ endings }) => endings.some((ending) => foldedName(file).endsWith(ending)))
      );
    },
  };

  /** Whether a root lies below: on the way to it nothing is excluded. */
  function isAbove(folder: string): boolean {
    return roots.some((root) => root.path.startsWith(folder + path.sep));
  }
}

/** Whether the folder of notes excludes a folder by its present rules. */
function leavesOutFolder(root: string, stateDir: string): (folder: string) => boolean {
  const known = new Map<string, FolderRules | undefined>();
  const rulesIn = (folder: string): FolderRules | undefined => {
    if (!known.has(folder)) known.set(folder, folder === root ? begin() : enter(folder));
    return known.get(folder);
  };
  const begin = (): FolderRules | undefined => unlessUnreadable(() => folderRules({ folder: root, stateDir }));
  const enter = (folder: string): FolderRules | undefined =>
    unlessUnreadable(() => rulesIn(path.dirname(folder))?.enter(path.basename(folder)));
  return (folder) => rulesIn(path.dirname(folder))?.leavesOut(path.basename(folder), true) !== undefined;
}
