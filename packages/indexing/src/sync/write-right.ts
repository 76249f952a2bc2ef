import { setTimeout as pause } from "node:timers/promises";
import { MemoryError, type SyncProgress, type WriterStatus } from "@memslot/core";
import type { ChunkIndex, HostLeases, LeaseName } from "../chunk-index.ts";

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
 * store without leases it just runs. Work that fails after this host has slept past its right is tried once more.
 */
export async function withWriteRight<Result>(
  { leases }: Pick<ChunkIndex, "leases">,
  name: LeaseName,
  options: RightOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!leases) return await work();
  let slept: number | undefined;
  try {
    return await withRight(leases, name, options, async () => {
      try {
        return await work();
      } finally {
        slept = leases.slept?.(name);
      }
    });
  } catch (error) {
    if (slept === undefined || options.signal.aborted) throw error;
    const label = `this machine slept for ${Math.ceil(slept / 60_000)} min in the middle of it; it is tried once more`;
    options.progress?.({ completed: 0, total: 0, label });
    return await withRight(leases, name, options, work);
  }
}

async function withRight<Result>(
  leases: HostLeases,
  name: LeaseName,
  { reason, waitMs, signal, progress }: RightOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = performance.now();
  for (let tries = 1; !(await leases.acquire(name, reason)); tries++) {
    signal.throwIfAborted();
    const holder = await leases.holder(name);
    if (performance.now() - started >= waitMs()) throw new HeldElsewhere(holder);
    // Whoever waits for a moment only is told by the error.
    if (holder && waitMs() > showsFromMs) {
      const { completed = 0, total = 0 } = holder;
      progress?.({ completed, total, label: describeWriter({ ...holder, total: undefined }) });
    }
    // Each question is some requests where hosts share a place.
    await pause(leases.slept && tries > 5 ? 10 * askAgainMs : askAgainMs, undefined, { signal });
  }
  try {
    signal.throwIfAborted();
    return await work();
  } finally {
    // A store that fails now has failed the work too, and lets go of everything when it is closed.
    await leases.release(name).catch(() => undefined);
  }
}
