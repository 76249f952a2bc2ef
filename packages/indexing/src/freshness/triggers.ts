import type { MemorySearchSettings, WatchStatus } from "@memslot/core";
import { type RootWatch, type RootWatchInput, watchRoots } from "./watch-roots.ts";

/** A file that is written for ever is indexed all the same: after so many times the quiet that is waited for. */
const ceilingFactor = 10;

/** What looks at the files without being asked. */
export interface Triggers {
  state(): WatchStatus;
  /** Look again at which roots there are; to be called after each sync. */
  refresh(): void;
  /** As of the watch of the roots; lost where files are not watched. */
  news: RootWatch["news"];
  /** Ends all, and waits for the run that is on its way: its owner makes it end first. */
  close(): Promise<void>;
}

export interface TriggerInput extends Pick<RootWatchInput, "roots" | "notify" | "sentinelDir"> {
  settings: Pick<MemorySearchSettings["sync"], "watch" | "watchDebounceMs" | "watchMaxFiles" | "intervalMinutes"> &
    Partial<Pick<MemorySearchSettings["sync"], "onSearch">>;
  /**
   * Something may have changed since the files were last looked at. Called at once with the first event of a burst, and
   * when watching begins or ends: what changed before it began was seen by nobody.
   */
  changed: () => void;
  /** Looks at the files. One at a time; what it throws is its own to record. */
  run: (reason: "watch" | "interval") => Promise<void>;
}

const unwatched = "sync.watch is false";

/**
 * Starts a run when files have changed and then been left alone for a moment, and at intervals. An event says only that
 * something changed: the run looks for itself. Nothing here keeps a process alive.
 */
export function createTriggers(input: TriggerInput): Triggers {
  const { settings, changed } = input;
  const { watchDebounceMs, watchMaxFiles, intervalMinutes } = settings;
  let closed = false;
  let running: Promise<void> | undefined;
  let next: "watch" | "interval" | undefined;

  function start(reason: "watch" | "interval"): void {
    if (closed) return;
    if (running) {
      // What is running may have passed the file already.
      if (next !== "watch") next = reason;
      return;
    }
    running = (async () => await input.run(reason))()
      .catch(() => undefined)
      .then(() => {
        running = undefined;
        const again = next;
        next = undefined;
        if (again) start(again);
      });
  }

  const burst = createBurst({
    quietMs: watchDebounceMs,
    ceilingMs: watchDebounceMs * ceilingFactor,
    began: changed,
    ended: () => start("watch"),
  });
  // Where searches do not scan, what changed before watching began would stay unseen.
  const began = settings.onSearch === false ? burst.touch : changed;
  const watch = settings.watch
    ? watchRoots({ ...input, maxFiles: watchMaxFiles, event: burst.touch, began })
    : undefined;
  // A timer takes at most 2^31 - 1 milliseconds, about 24 days.
  const intervalMs = Math.min(intervalMinutes * 60_000, 2 ** 31 - 1);
  const interval = intervalMinutes > 0 ? setInterval(() => start("interval"), intervalMs).unref() : undefined;

  return {
    state: () => watch?.state() ?? { mode: "off", reason: unwatched },

    async news(folders) {
      return (await watch?.news(folders)) ?? { lost: `watching is off: ${unwatched}`, barred: false, thread: 0 };
    },

    refresh() {
      if (!closed) watch?.refresh();
    },

    async close() {
      closed = true;
      clearInterval(interval);
      burst.cancel();
      await Promise.all([watch?.close(), running]);
    },
  };
}

/**
 * Calls `began` with the first event, and `ended` when no other has come for `quietMs`, or `ceilingMs` after the first
 * however many come. The timer keeps no process alive.
 */
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
      // A clock that somebody sets must neither end a burst nor keep it open.
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
