import type { Stats } from "node:fs";
import path from "node:path";
import { foldedName } from "../files/folded-name.ts";
import { ignoredFolders } from "../files/ignored-folders.ts";

/** A place where memory may stand, there or not. */
export interface WatchRoot {
  /** Absolute. */
  path: string;
  /** A `folder` may turn out to be a file. */
  kind: "file" | "folder";
  /** How the names of files that matter end, in lower case; `.md` unless given. */
  extension?: string | undefined;
}

/** What of a disk is watched for some roots. */
export interface WatchScope {
  /**
   * `watched`: a root or a folder in one, as far as it is known. `told of`: a file or a link there, of which the watch of
   * its folder tells. `elsewhere`: in no root, or in a folder of a tool.
   */
  lookAt(file: string, stats: Stats | undefined): "watched" | "told of" | "elsewhere";
  /** Whether a run has to follow what the system tells of a watched folder or file and a name in it. */
  concerns(watched: string, name: string | null): boolean;
}

export function createWatchScope(roots: readonly WatchRoot[]): WatchScope {
  const places = roots.map((root) => ({
    ...root,
    extension: root.extension ?? ".md",
    inside: root.path.endsWith(path.sep) ? root.path : root.path + path.sep,
  }));
  const rootNames = new Set(roots.map((root) => foldedName(root.path)));
  const isRoot = (file: string): boolean => rootNames.has(foldedName(file));

  /** The roots that something lies in. A folder of a tool may be a root, or above one. */
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
      if (placesOf(file).length === 0) return "elsewhere";
      return stats === undefined || stats.isDirectory() ? "watched" : "told of";
    },

    concerns(watched, name) {
      // The system has more to tell than it can name, or it is about what is watched itself. A child of the same name
      // looks the same.
      if (name === null || name === "" || name === path.basename(watched)) return true;
      const file = path.resolve(watched, name);
      return isRoot(file) || placesOf(file).some(({ extension }) => foldedName(file).endsWith(extension));
    },
  };
}
