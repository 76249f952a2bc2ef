import { type FSWatcher, type Stats, watch as watchFolder } from "node:fs";
import path from "node:path";
import { messageOf } from "@memslot/core";

/** What is to be watched in one folder. */
export interface WatchTarget {
  /** Also all that is below it. */
  recursive: boolean;
  /** Endings of file names that matter, in lower case; none where only `names` do. */
  extensions: Set<string>;
  /** Entries that matter whatever they are, in lower case. */
  names: Set<string>;
}

export interface FolderEvent {
  /** The folder whose watch it is. */
  folder: string;
  kind: string;
  /** Relative to the folder. */
  name: string | null;
}

/** Why nothing can be watched, and what a person can do. */
export class WatchFailure extends Error {
  readonly advice: string;

  constructor(message: string, advice: string, cause?: unknown) {
    super(message, { cause });
    this.advice = advice;
  }

  static of(error: unknown, folder: string): WatchFailure {
    if (error instanceof WatchFailure) return error;
    const code = codeOf(error);
    if (code === "ENOSPC") {
      const reason = "the system allows no more watches (ENOSPC)";
      return new WatchFailure(reason, "On Linux, raise fs.inotify.max_user_watches", error);
    }
    if (isShortage(error)) {
      const reason = `too many files are open, or too many programs watch files (${code})`;
      const advice = "Raise `ulimit -n`, or on Linux fs.inotify.max_user_instances";
      return new WatchFailure(reason, advice, error);
    }
    return new WatchFailure(`${folder} cannot be watched: ${messageOf(error)}`, "Check the folder", error);
  }
}

export interface FolderWatches {
  /** Watches a folder, from now on for this as well. False: it is watched already, or is gone, or closed to us. */
  set(folder: string, target: WatchTarget, stats: Stats): boolean;
  /** Leaves these and no others, each for its target alone. */
  settle(targets: ReadonlyMap<string, WatchTarget>): void;
  get(folder: string): WatchTarget | undefined;
  removeBelow(folder: string): void;
  clear(): void;
  size(): number;
}

interface Entry {
  target: WatchTarget;
  watcher: FSWatcher;
  /** The folder that was there when the watch began: a path may come to mean another. */
  identity: string;
}

/** The watches themselves, one a folder. None keeps the process alive. */
export function createFolderWatches(input: {
  event: (event: FolderEvent) => void;
  /** Called once something is wrong with the watching itself, not with the folder. */
  failed: (failure: WatchFailure) => void;
  watch?: typeof watchFolder | undefined;
}): FolderWatches {
  const watch = input.watch ?? watchFolder;
  const entries = new Map<string, Entry>();

  function remove(folder: string): void {
    const entry = entries.get(folder);
    entries.delete(folder);
    entry?.watcher.close();
  }

  function onError(folder: string, watcher: FSWatcher, error: unknown): void {
    if (entries.get(folder)?.watcher !== watcher) return;
    // Windows answers EPERM when a folder is deleted; the event that follows from it sets things right.
    if (codeOf(error) === "EPERM") input.event({ folder, kind: "rename", name: path.basename(folder) });
    else input.failed(WatchFailure.of(error, folder));
  }

  return {
    set(folder, target, stats) {
      const before = entries.get(folder);
      const identity = `${stats.dev}:${stats.ino}`;
      if (before?.identity === identity && before.target.recursive === target.recursive) {
        // What it was watched for stays until the whole walk is done.
        for (const name of target.names) before.target.names.add(name);
        for (const extension of target.extensions) before.target.extensions.add(extension);
        return false;
      }
      remove(folder);
      try {
        const watcher = watch(folder, { recursive: target.recursive, persistent: false });
        watcher.on("change", (kind, name) => {
          if (entries.get(folder)?.watcher !== watcher) return;
          input.event({ folder, kind, name: name === null ? null : String(name) });
        });
        watcher.on("error", (error) => onError(folder, watcher, error));
        const own = { ...target, extensions: new Set(target.extensions), names: new Set(target.names) };
        entries.set(folder, { target: own, watcher, identity });
        return true;
      } catch (error) {
        const code = codeOf(error);
        // Gone since it was seen, or closed to us: the sync says so.
        if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || code === "EPERM") return false;
        throw WatchFailure.of(error, folder);
      }
    },

    settle(targets) {
      for (const [folder, entry] of entries) {
        const target = targets.get(folder);
        if (target) entry.target = target;
        else remove(folder);
      }
    },

    get: (folder) => entries.get(folder)?.target,

    removeBelow(folder) {
      const inside = folder + path.sep;
      for (const other of entries.keys()) if (other === folder || other.startsWith(inside)) remove(other);
    },

    clear() {
      for (const folder of entries.keys()) remove(folder);
    },

    size: () => entries.size,
  };
}

/** Whether the process or the system has run out of open files. */
export function isShortage(error: unknown): boolean {
  const code = codeOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
