import { lstatSync } from "node:fs";
import path from "node:path";
import { codeOf } from "@memslot/core/files";
import { lastingStamp, identityOf } from "../scan/file-state.ts";
import type { WatchNews } from "./watch-roots.ts";
import type { WatchRoot } from "./watch-scope.ts";
import { FolderView } from "./folder-view.ts";

/** For so long a folder that does not tell all is believed to go on so. */
const barredMs = 60_000;
/** Whatever the watcher tells, all files are looked at again after so long. */
const sweepAfterMs = 5 * 60_000;
/** Folders that are begun to be watched for one question. */
const mostAtOnce = 500;

/** Learns what has happened to the files without looking at them, where that is to be had. */
export interface CatchUp {
  readonly view: FolderView;
  /**
   * Brings the view up to what is so now: whatever changed before this call is in it. True: nothing has changed that a
   * look at the files could find, since the last one that has found everything. Never throws.
   */
  isUnchanged(): Promise<boolean>;
  /** A look at all files begins. To be called when it has found everything: without that it counts for nothing. */
  begin(): () => void;
  /** The next look asks the file system for everything. */
  sweep(reason: string): void;
  /** Why the last look was a sweep; undefined where it was none. */
  whySwept(): string | undefined;
}

export function createCatchUp(input: {
  roots: () => readonly WatchRoot[];
  news: (folders: { add: readonly string[]; drop: readonly string[] }) => Promise<WatchNews>;
  now?: (() => number) | undefined;
}): CatchUp {
  const { news, now = () => performance.now() } = input;
  const view = new FolderView();
  let thread: number | undefined;
  let barred: { untilMs: number; reason: string } | undefined;
  let swept: string | undefined = "no search has looked at the files yet";
  /** When the last look began that has asked for everything; undefined: everything is still to be asked for. */
  let sweptAtMs: number | undefined;
  /** What the places of memory were like when all was found that they hold. */
  let settled: string | undefined;

  function sweep(reason: string): void {
    view.forget();
    swept = reason;
    sweptAtMs = undefined;
  }

  /** Asks for the news. Gives why there are none. */
  async function hear(roots: ReadonlySet<string>): Promise<string | undefined> {
    if (barred !== undefined && now() < barred.untilMs) return barred.reason;
    barred = undefined;
    const told = await news(view.wanted(mostAtOnce));
    // What another thread has watched is watched no more.
    if (thread !== told.thread) view.reset();
    thread = told.thread;
    if ("lost" in told) {
      view.reset();
      if (told.barred) barred = { untilMs: now() + barredMs, reason: told.lost };
      return told.lost;
    }
    view.take(told.notes, roots);
    return undefined;
  }

  return {
    view,
    sweep,
    whySwept: () => swept,

    async isUnchanged() {
      const chosen = input.roots();
      const roots = new Set(chosen.filter(({ kind }) => kind === "folder").map((root) => root.path));
      const lost = await hear(roots);
      if (lost !== undefined) {
        sweep(lost);
        // Watched again at once: then what is looked at now counts.
        if (barred === undefined) await hear(roots);
        return false;
      }
      view.checkRoots(roots);
      if (sweptAtMs === undefined) sweep("no search has looked at all files yet");
      else if (now() - sweptAtMs > sweepAfterMs) sweep("all files are looked at again every few minutes");
      else swept = undefined;
      if (swept !== undefined) return false;
      return settled !== undefined && settled === placesOf(chosen) && view.isWhole && !view.hasChanged();
    },

    begin() {
      const found = placesOf(input.roots());
      const [isSweep, startedMs] = [sweptAtMs === undefined, now()];
      settled = undefined;
      view.begin();
      return () => {
        settled = found;
        if (isSweep) sweptAtMs = startedMs;
      };
    },
  };
}

/** One text for all that a few calls tell of the places of memory and the two folders above each. */
function placesOf(roots: readonly WatchRoot[]): string {
  const above = (place: string): string[] => [place, path.dirname(place), path.dirname(path.dirname(place))];
  const places = new Set(roots.flatMap((root) => above(root.path)));
  return JSON.stringify([roots, Array.from(places, stateOf)]);
}

function stateOf(place: string): string {
  try {
    const stats = lstatSync(place, { bigint: true });
    return stats.isDirectory() ? (identityOf(place) ?? "gone") : `${stats.mode}:${lastingStamp(stats)}`;
  } catch (error) {
    return codeOf(error) ?? "unknown";
  }
}
