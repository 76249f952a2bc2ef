import type { SyncProgress } from "@memslot/core";
import { type Output, printable } from "./output.ts";

const BAR_DELAY_MS = 300;
const FIRST_LINE_MS = 1000;
const LINE_INTERVAL_MS = 5000;

/** The progress of a sync on stderr. A short sync shows nothing. */
export interface Progress {
  update(progress: SyncProgress): void;
  stop(): void;
}

/** A progress bar on a terminal, occasional lines in a pipe. */
export function createProgress(
  output: Pick<Output, "stderr" | "canRedraw">,
  what: string,
  now: () => number = Date.now,
): Progress {
  return output.canRedraw ? createBar(output.stderr, what, now) : createLines(output.stderr, what, now);
}

/** Reports the first index, because the scan before it has nothing to count. Returns a function that stops it. */
export function reportFirstIndex({ stderr }: Pick<Output, "stderr">, folder: string): () => void {
  const timer = setTimeout(
    () => stderr.write(`memslot: indexing ${printable(folder)} for the first time …\n`),
    BAR_DELAY_MS,
  );
  return () => clearTimeout(timer);
}

function createLines(stderr: NodeJS.WriteStream, what: string, now: () => number): Progress {
  const startedAt = now();
  let nextAt = startedAt + FIRST_LINE_MS;
  let stopped = false;
  let latest: SyncProgress | undefined;
  const show = (): void => {
    if (stopped || latest === undefined || now() < nextAt) return;
    nextAt = now() + LINE_INTERVAL_MS;
    const { completed, total } = latest;
    const { phase, unit } = phaseOf(latest, what);
    const seconds = Math.round((now() - startedAt) / 1000);
    // The other process may not report its progress.
    const far = total === 0 ? "" : `: ${completed} of ${total}${unit}`;
    stderr.write(`memslot: ${printable(phase)}${far} (${seconds} s)\n`);
  };
  // Repeats the line also without new progress.
  const again = setInterval(show, FIRST_LINE_MS);
  again.unref();
  return {
    update(progress) {
      latest = progress;
      show();
    },
    stop() {
      stopped = true;
      clearInterval(again);
    },
  };
}

function createBar(stderr: NodeJS.WriteStream, what: string, now: () => number): Progress {
  const timeLeft = createTimeLeft(now);
  const startedAt = now();
  let bar: import("cli-progress").SingleBar | undefined;
  let loading = false;
  let stopped = false;
  let latest: SyncProgress = { completed: 0, total: 0 };
  const facts = (): Record<string, string> => {
    const { phase, unit } = phaseOf(latest, what);
    return { phase, unit, left: timeLeft(latest, phase) };
  };
  const load = async (): Promise<void> => {
    const { default: library } = await import("cli-progress");
    if (stopped) return;
    bar = new library.SingleBar({
      format: "{phase} {bar} {value}/{total}{unit}{left}",
      stream: stderr,
      barsize: 30,
      hideCursor: true,
      clearOnComplete: true,
    });
    bar.start(latest.total, latest.completed, facts());
  };
  return {
    update(progress) {
      latest = progress;
      if (bar !== undefined) {
        bar.setTotal(progress.total);
        bar.update(progress.completed, facts());
      } else if (!loading && now() - startedAt >= BAR_DELAY_MS) {
        loading = true;
        // The work continues without the bar if it cannot be loaded.
        load().catch(() => {});
      }
    },
    stop() {
      stopped = true;
      bar?.stop();
    },
  };
}

/** A label that ends in `.md` or `.jsonl` is a file; any other names a phase. */
export function phaseOf({ label }: { label?: string | undefined }, what: string): { phase: string; unit: string } {
  if (label === undefined || /\.(?:md|jsonl)$/iu.test(label)) return { phase: what, unit: " files" };
  return { phase: label, unit: label.startsWith("downloading ") ? " MB" : "" };
}

/** Estimates the time left from the pace of the current phase: `, 3 s left`. */
function createTimeLeft(now: () => number): (progress: SyncProgress, phase: string) => string {
  let current: { phase: string; startedAt: number; completed: number } | undefined;
  return ({ completed, total }, phase) => {
    if (current?.phase !== phase) current = { phase, startedAt: now(), completed };
    const done = completed - current.completed;
    const elapsedMs = now() - current.startedAt;
    if (done <= 0 || elapsedMs <= 0) return "";
    const seconds = Math.ceil((elapsedMs / done) * (total - completed) * 0.001);
    return seconds < 100 ? `, ${seconds} s left` : `, ${Math.ceil(seconds / 60)} min left`;
  };
}
