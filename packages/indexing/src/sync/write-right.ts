import { setTimeout as pause } from "node:timers/promises";
import { MemoryError, type SyncProgress, type WriterStatus } from "@memslot/core";
import type { ChunkIndex, LeaseName } from "../chunk-index.ts";

const askAgainMs = 50;
/** Whoever may wait longer than this is shown for whom. */
const showsFromMs = 10_000;

/** Another process has the right to write, for longer than was waited for it. */
export class HeldElsewhere extends Error {
  readonly code = "BUSY";
  readonly holder: WriterStatus | undefined;

  constructor(holder: WriterStatus | undefined) {
    super(describeWriter(holder));
    this.holder = holder;
  }
}

/** `process 812 on box is at work on the index (cli, 120 of 500) since 2026-05-04T10:00:00.000Z` */
function describeWriter(holder: WriterStatus | undefined): string {
  if (!holder) return "another process is at work on the index";
  const { pid, host, reason, since, completed, total, label } = holder;
  const progress =
    total === undefined ? "" : `, ${completed ?? 0} of ${total}${label === undefined ? "" : ` ${label}`}`;
  return `process ${pid}${host === undefined ? "" : ` on ${host}`} is at work on the index (${reason}${progress}) since ${since}`;
}

export function busyError(holder: WriterStatus | undefined): MemoryError {
  return new MemoryError("BUSY", `${describeWriter(holder)}; wait for it, or end that process`);
}

export interface RightOptions {
  /** What the work is for, for others to read. */
  reason: string;
  /** How long another process is waited for. Asked again while waiting, as less may be enough by then. */
  waitMs: () => number;
  signal: AbortSignal;
  /** Shows how far the other one is. */
  progress?: ((update: SyncProgress) => void) | undefined;
}

/**
 * Runs work that only one process at a time may do. Throws `HeldElsewhere` where another one does not end in time. In a
 * store without leases it just runs.
 */
export async function withWriteRight<Result>(
  store: Pick<ChunkIndex, "leases">,
  name: LeaseName,
  { reason, waitMs, signal, progress }: RightOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { leases } = store;
  if (!leases) return await work();
  const started = performance.now();
  while (!(await leases.acquire(name, reason))) {
    signal.throwIfAborted();
    const holder = await leases.holder(name);
    if (performance.now() - started >= waitMs()) throw new HeldElsewhere(holder);
    // Whoever waits for a moment only is told by the error.
    if (holder && waitMs() > showsFromMs) {
      const { completed = 0, total = 0 } = holder;
      progress?.({ completed, total, label: describeWriter({ ...holder, total: undefined }) });
    }
    await pause(askAgainMs, undefined, { signal });
  }
  try {
    signal.throwIfAborted();
    return await work();
  } finally {
    // A store that fails now has failed the work too, and lets go of everything when it is closed.
    await leases.release(name).catch(() => undefined);
  }
}
