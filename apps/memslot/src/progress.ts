import type { SyncProgress } from "@memslot/core";
import type { Output } from "./output.ts";

const BAR_DELAY_MS = 300;
const FIRST_LINE_MS = 1000;
const LINE_INTERVAL_MS = 5000;

/** Shows how far a sync has come, on stderr. A short sync shows nothing. */
export interface Progress {
  update(progress: SyncProgress): void;
  /** Clears the bar. Nothing is shown afterwards. */
  stop(): void;
}

/** A bar with count and ETA on a terminal, a plain line now and then in a pipe. */
export function createProgress(output: Pick<Output, "stderr" | "canRedraw">, what: string, now: () => number = Date.now): Progress {
  return output.canRedraw ? createBar(output.stderr, what, now) : createLines(output.stderr, what, now);
}

function createLines(stderr: NodeJS.WriteStream, what: string, now: () => number): Progress {
  const startedAt = now();
  let nextAt = startedAt + FIRST_LINE_MS;
  let stopped = false;
  return {
    update({ completed, total }) {
      if (stopped || now() < nextAt) return;
      nextAt = now() + LINE_INTERVAL_MS;
      const seconds = Math.round((now() - startedAt) / 1000);
      stderr.write(`memslot: ${what}: ${completed} of ${total} files (${seconds} s)\n`);
    },
    stop() {
      stopped = true;
    },
  };
}

function createBar(stderr: NodeJS.WriteStream, what: string, now: () => number): Progress {
  const startedAt = now();
  let bar: import("cli-progress").SingleBar | undefined;
  let loading = false;
  let stopped = false;
  let latest: SyncProgress = { completed: 0, total: 0 };
  const load = async (): Promise<void> => {
    const { default: library } = await import("cli-progress");
    if (stopped) return;
    bar = new library.SingleBar({
      format: `${what} {bar} {value}/{total} files, {eta_formatted} left`,
      stream: stderr,
      barsize: 30,
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 50,
    });
    bar.start(latest.total, latest.completed);
  };
  return {
    update(progress) {
      latest = progress;
      if (bar !== undefined) {
        bar.setTotal(progress.total);
        bar.update(progress.completed);
      } else if (!loading && now() - startedAt >= BAR_DELAY_MS) {
        loading = true;
        // The bar is an extra: where it cannot be loaded the work goes on without it.
        load().catch(() => {});
      }
    },
    stop() {
      stopped = true;
      bar?.stop();
    },
  };
}
