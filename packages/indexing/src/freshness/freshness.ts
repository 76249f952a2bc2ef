import path from "node:path";
import type { FreshnessStatus, MemorySearchSettings, WatchStatus } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { lastingStamp, identityOf, statOf } from "../scan/file-state.ts";
import { type FolderLook, plainLook } from "../scan/scan.ts";
import { type RootWatch, type RootWatchInput, type WatchNews, watchRoots } from "./watch-roots.ts";
import type { WatchRoot } from "./watch-scope.ts";
import { FolderView } from "./folder-listing-cache.ts";

const ceilingFactor = 10;
const barredMs = 60_000;
/** Interval of full scans regardless of the watcher. */
const sweepAfterMs = 5 * 60_000;
const mostAtOnce = 500;

const unwatched: WatchNews = { lost: "the folders are not watched yet", barred: false, thread: 0 };

type Settings = MemorySearchSettings["sync"];

export interface FreshnessInput extends Pick<RootWatchInput, "roots" | "notify" | "sentinelDir"> {
  settings: Pick<Settings, "watch" | "watchDebounceMs" | "watchMaxFiles" | "intervalMinutes"> &
    Partial<Pick<Settings, "onSearch">>;
  /** Why searches scan all files, if it is not because of the settings. */
  whyScans?: string | undefined;
  news?: RootWatch["news"] | undefined;
  now?: (() => number) | undefined;
}

export interface FreshnessWork {
  /** Called with the first event of a burst, and when watching begins or ends. */
  changed: () => void;
  /** Scans the files. Runs one at a time; what it throws is its own to record. */
  run: (reason: "watch" | "interval") => Promise<void>;
}

export class Freshness {
  readonly look: FolderLook;
  readonly #view = new FolderView();
  readonly #input: FreshnessInput;
  readonly #now: () => number;
  readonly #whyScans: string | undefined;
  #end: (() => Promise<unknown>) | undefined;
  #watch: RootWatch | undefined;
  #thread: number | undefined;
  #barred: { untilMs: number; reason: string } | undefined;
  #swept: string | undefined = "no search has looked at the files yet";
  /** Start of the last full scan; undefined: a full scan is due. */
  #sweptAtMs: number | undefined;
  /** State of the memory places at the last full scan. */
  #settled: string | undefined;

  constructor(input: FreshnessInput) {
    const { settings, now = () => performance.now() } = input;
    this.#input = input;
    this.#now = now;
    if (settings.onSearch === "sweep") this.#whyScans = 'sync.onSearch is "sweep"';
    else this.#whyScans = settings.watch ? input.whyScans : "sync.watch is false";
    this.look = this.#whyScans === undefined ? this.#view : plainLook;
  }

  start({ changed, run }: FreshnessWork): void {
    const { settings } = this.#input;
    const { watchDebounceMs, watchMaxFiles, intervalMinutes } = settings;
    let closed = false;
    let running: Promise<void> | undefined;
    let next: "watch" | "interval" | undefined;

    const begin = (reason: "watch" | "interval"): void => {
      if (closed) return;
      if (running) {
        // The running scan may have passed the file already.
        if (next !== "watch") next = reason;
        return;
      }
      running = (async () => await run(reason))()
        .catch(() => undefined)
        .then(() => {
          running = undefined;
          const again = next;
          next = undefined;
          this.refresh();
          if (again) begin(again);
        });
    };

    const burst = createBurst({
      quietMs: watchDebounceMs,
      ceilingMs: watchDebounceMs * ceilingFactor,
      began: changed,
      ended: () => begin("watch"),
    });
    // Without scans at search time, changes before watching began would stay unseen.
    const began = settings.onSearch === false ? burst.touch : changed;
    const own = { ...this.#input, maxFiles: watchMaxFiles, event: burst.touch, began };
    this.#watch = settings.watch ? watchRoots(own) : undefined;
    // A timer takes at most 2^31 - 1 milliseconds, about 24 days.
    const intervalMs = Math.min(intervalMinutes * 60_000, 2 ** 31 - 1);
    const interval = intervalMinutes > 0 ? setInterval(() => begin("interval"), intervalMs).unref() : undefined;
    this.#end = async () => {
      closed = true;
      clearInterval(interval);
      burst.cancel();
      await Promise.all([this.#watch?.close(), running]);
    };
  }

  watching(): WatchStatus {
    if (this.#end === undefined) return { mode: "off", reason: "opened only to look" };
    return this.#watch?.state() ?? { mode: "off", reason: "sync.watch is false" };
  }

  status(): FreshnessStatus {
    if (this.#input.settings.onSearch === false) return { by: "sync", reason: "sync.onSearch is false" };
    const reason = this.#whyScans ?? this.#swept;
    return reason === undefined ? { by: "events" } : { by: "sweep", reason };
  }

  /** Chooses again what is watched; to be called after each sync. */
  refresh(): void {
    this.#watch?.refresh();
  }

  async close(): Promise<void> {
    await this.#end?.();
  }

  /** Applies all earlier changes. True: unchanged since the last full scan. Never throws. */
  async isUnchanged(): Promise<boolean> {
    if (this.#whyScans !== undefined) return false;
    const chosen = this.#input.roots();
    const roots = new Set(chosen.filter(({ kind }) => kind === "folder").map((root) => root.path));
    const lost = await this.#hear(roots);
    if (lost !== undefined) {
      this.sweep(lost);
      // Watched again at once: then what is listed now counts.
      if (this.#barred === undefined) await this.#hear(roots);
      return false;
    }
    const view = this.#view;
    view.checkRoots(roots);
    if (this.#sweptAtMs === undefined) this.sweep("no search has looked at all files yet");
    else if (this.#now() - this.#sweptAtMs > sweepAfterMs)
      this.sweep("all files are looked at again every few minutes");
    else this.#swept = undefined;
    if (this.#swept !== undefined) return false;
    return this.#settled !== undefined && this.#settled === placesOf(chosen) && view.isWhole && !view.hasChanged();
  }

  begin(): () => void {
    if (this.#whyScans !== undefined) return () => undefined;
    const found = placesOf(this.#input.roots());
    const [isSweep, startedMs] = [this.#sweptAtMs === undefined, this.#now()];
    this.#settled = undefined;
    this.#view.begin();
    return () => {
      this.#settled = found;
      if (isSweep) this.#sweptAtMs = startedMs;
    };
  }

  sweep(reason: string): void {
    this.#view.forget();
    this.#swept = reason;
    this.#sweptAtMs = undefined;
  }

  async #hear(roots: ReadonlySet<string>): Promise<string | undefined> {
    const view = this.#view;
    if (this.#barred !== undefined && this.#now() < this.#barred.untilMs) return this.#barred.reason;
    this.#barred = undefined;
    const news = this.#input.news ?? this.#watch?.news;
    const reported = (await news?.(view.wanted(mostAtOnce))) ?? unwatched;
    // Watches of another thread are gone.
    if (this.#thread !== reported.thread) view.reset();
    this.#thread = reported.thread;
    if ("lost" in reported) {
      view.reset();
      if (reported.barred) this.#barred = { untilMs: this.#now() + barredMs, reason: reported.lost };
      return reported.lost;
    }
    view.take(reported.notes, roots);
    return undefined;
  }
}

/** State of the memory places and the two folders above each, as one text. */
function placesOf(roots: readonly WatchRoot[]): string {
  const above = (place: string): string[] => [place, path.dirname(place), path.dirname(path.dirname(place))];
  const places = new Set(roots.flatMap((root) => above(root.path)));
  return JSON.stringify([roots, Array.from(places, stateOf)]);
}

function stateOf(place: string): string {
  const stats = statOf(place);
  if (stats instanceof Error) return codeOf(stats) ?? "unknown";
  return stats.isDirectory() ? (identityOf(place) ?? "gone") : `${stats.mode}:${lastingStamp(stats)}`;
}

/** Calls `began` at the first event and `ended` after `quietMs` without one, at the latest after `ceilingMs`. */
export function createBurst(input: { quietMs: number; ceilingMs: number; began: () => void; ended: () => void }): {
  touch(): void;
  cancel(): void;
} {
  const { quietMs, ceilingMs } = input;
  let timer: NodeJS.Timeout | undefined;
  let firstAt = 0;

  function end(): void {
    clearTimeout(timer);
    timer = undefined;
    input.ended();
  }

  return {
    touch() {
      // A clock adjustment must neither end a burst nor keep it open.
      const now = performance.now();
      if (timer === undefined) {
        firstAt = now;
        timer = setTimeout(end, quietMs).unref();
        input.began();
      } else if (now - firstAt + quietMs < ceilingMs) timer.refresh();
      // From here on the timer that runs is the last one: it ends within the ceiling.
    },

    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
