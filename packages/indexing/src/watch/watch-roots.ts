import path from "node:path";
import type { watch as watchFolder } from "node:fs";
import type { WatchStatus } from "@memslot/core";
import { ignoredFolders } from "../files/ignored-folders.ts";
import { foldedName } from "../files/same-file.ts";
import { createFolderWatches, type FolderEvent, WatchFailure } from "./folder-watches.ts";
import { findFolders, statOf, type WatchRoot } from "./watch-targets.ts";

export interface RootWatch {
  state(): WatchStatus;
  /** Looks again at which folders there are. After a failure, tries once more when some time has passed. */
  refresh(): void;
  close(): void;
}

export interface RootWatchInput {
  roots: () => readonly WatchRoot[];
  /** Something has changed. */
  event: () => void;
  /** From here on, what changes is told or known to be untold; what changed before may not have been. */
  began: () => void;
  notify: (line: string) => void;
  /** Whether the system watches a whole tree with one handle; elsewhere each folder has its own watch. */
  recursive?: boolean | undefined;
  maxFolders?: number | undefined;
  retryMs?: number | undefined;
  /** Stands in for `fs.watch`. */
  watch?: typeof watchFolder | undefined;
}

/** Older Linux kernels allow 8,192 watches to all programs of a user together. */
const maxWatchedFolders = 8000;
const retryAfterMs = 5 * 60_000;
/** Events that ask for another walk come in swarms. */
const lookDelayMs = 20;
/** Walks take at most so much of the time: the pause before one is as many times as long as the last one was. */
const lookPauseFactor = 5;

/**
 * Tells that something changed below the roots. On macOS and Windows the system watches each root whole; elsewhere each
 * folder has its own watch, which costs a few microseconds and no file descriptor. A root that is a file, or is not
 * there, is seen through the nearest folder above it. When watching fails it is off, with the reason, and said once.
 */
export function watchRoots(input: RootWatchInput): RootWatch {
  const { event, notify } = input;
  const recursive = input.recursive ?? (process.platform === "darwin" || process.platform === "win32");
  const maxFolders = input.maxFolders ?? maxWatchedFolders;
  const folders = createFolderWatches({ watch: input.watch, event: onEvent, failed: turnOff });
  let phase: "starting" | "on" | "off" | "closed" = "starting";
  let offBecause = "";
  let retryAt = 0;
  /** Said once, until it works again. */
  let told = false;
  let lookTimer: NodeJS.Timeout | undefined;
  let looking = false;
  let lastLookMs = 0;
  /** Whether anything has happened since the folders were walked. */
  let stirred = true;
  let rootsBefore = "";

  function turnOff(failure: WatchFailure): void {
    if (phase === "closed" || phase === "off") return;
    phase = "off";
    offBecause = failure.message;
    retryAt = performance.now() + (input.retryMs ?? retryAfterMs);
    clearTimeout(lookTimer);
    lookTimer = undefined;
    folders.clear();
    input.began();
    if (!told)
      notify(
        `files are not watched: ${failure.message}. Searches look at the files themselves. ${failure.advice}, or set sync.watch to false.`,
      );
    told = true;
  }

  function onEvent({ folder, kind, name }: FolderEvent): void {
    stirred = true;
    const target = folders.get(folder);
    if (!target) return;
    // The system has more to tell than it can name, or it is about the folder itself.
    if (name === null || name === "") {
      event();
      lookSoon();
      return;
    }
    if (kind === "rename" && name === path.basename(folder)) {
      // The folder itself was moved or deleted, and the watches below it may be those of a tree that is elsewhere now.
      // A child of the same name looks the same.
      event();
      folders.removeBelow(folder);
      lookSoon();
      return;
    }
    const parts = name.split(path.sep);
    const isNamed = target.names.has(foldedName(parts[0] ?? name));
    const inside = target.extensions.size > 0 && !parts.some((part) => ignoredFolders.has(part));
    if (isNamed || (inside && [...target.extensions].some((extension) => foldedName(name).endsWith(extension))))
      event();
    if (kind !== "rename") return;
    // A folder has come, or has other permissions; where the system watches the whole tree, one may also have gone.
    if (isNamed) lookSoon();
    else if (inside) {
      const stats = statOf(path.join(folder, name));
      if (stats ? !stats.isDirectory() : !target.recursive) return;
      event();
      if (!target.recursive) lookSoon();
    }
  }

  function lookSoon(): void {
    if (phase !== "starting" && phase !== "on") return;
    lookTimer ??= setTimeout(() => void look(), Math.max(lookDelayMs, lastLookMs * lookPauseFactor)).unref();
  }

  async function look(): Promise<void> {
    clearTimeout(lookTimer);
    lookTimer = undefined;
    if (looking) {
      lookSoon();
      return;
    }
    looking = true;
    const start = performance.now();
    try {
      await walk();
    } catch (error) {
      turnOff(WatchFailure.of(error, "a folder"));
    } finally {
      looking = false;
      lastLookMs = performance.now() - start;
    }
  }

  async function walk(): Promise<void> {
    stirred = false;
    const roots = input.roots();
    rootsBefore = JSON.stringify(roots);
    let isNew = false;
    const seen = await findFolders(roots, {
      recursive,
      maxFolders,
      isWanted: isAtWork,
      // Watched before it is listed: what is made in it meanwhile is either listed or told.
      found: (folder, target, stats) => {
        if (folders.set(folder, target, stats)) isNew = true;
      },
    });
    if (!isAtWork()) return;
    folders.settle(seen);
    told = false;
    const first = phase === "starting";
    phase = "on";
    if (first) input.began();
    // What changed before the watch began was seen by nobody.
    else if (isNew) event();
  }

  const isAtWork = (): boolean => phase === "starting" || phase === "on";
  void look();

  return {
    state() {
      if (phase === "on") return { mode: recursive ? "recursive" : "folders", folders: folders.size() };
      return { mode: "off", reason: phase === "off" ? offBecause : "the folders are being looked at" };
    },

    refresh() {
      if (phase === "off" && performance.now() >= retryAt) phase = "starting";
      else if (phase !== "on" || (!stirred && JSON.stringify(input.roots()) === rootsBefore)) return;
      lookSoon();
    },

    close() {
      phase = "closed";
      clearTimeout(lookTimer);
      folders.clear();
    },
  };
}
