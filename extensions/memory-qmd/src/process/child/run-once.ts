import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type KeptEnd, type KeptOptions, type KeptProcess, startKept } from "./kept-process.ts";

/** Of what it says on its standard output. An answer is much smaller. */
export const outputCap: number = 4 * 1024 * 1024;
const keptWords = 8 * 1024;

export interface RunOptions extends Omit<KeptOptions, "input"> {
  /** From its start, or from when it has the lock. */
  deadlineMs: number;
  /** How long the lock is waited for. */
  lockWaitMs?: number | undefined;
  /** An abort rejects at once with its reason, and stops the command. */
  signal: AbortSignal;
  /** Whether a command that was stopped for its time is waited for. */
  waitsForEnd: boolean;
  /** Told of the process when it is made. */
  onStart?: ((kept: KeptProcess) => void) | undefined;
}

export interface RunResult {
  stdout: string;
  /** The end of it. */
  stderr: string;
  end: KeptEnd;
  /** There was an unfinished one before it. */
  wasTorn: boolean;
  /** Why it was stopped: its time was over, the lock was not free, or it said too much. */
  stopped?: "time" | "lock" | "output" | undefined;
}

/** Runs a command to its end. Rejects with the reason of an abort, and with `QmdFailure` where it cannot be started. */
export async function runOnce(options: RunOptions): Promise<RunResult> {
  const { deadlineMs, lockWaitMs, signal, waitsForEnd, onStart, ...rest } = options;
  signal.throwIfAborted();
  const kept = startKept({ ...rest, input: false });
  onStart?.(kept);
  const { promise, resolve, reject } = Promise.withResolvers<RunResult>();
  let wasTorn = false;
  let stopped: RunResult["stopped"];
  let timer: NodeJS.Timeout | undefined;

  const stdout = collect(kept.stdout, outputCap, () => stopFor("output"));
  const stderr = collect(kept.stderr, Number.POSITIVE_INFINITY, () => {});
  const settle = (end: KeptEnd): void =>
    resolve({ stdout: stdout.text(), stderr: stderr.text().slice(-keptWords), end, wasTorn, stopped });
  const stopFor = (reason: NonNullable<RunResult["stopped"]>): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    kept.stop();
    if (!waitsForEnd) settle({ code: null, signal: "SIGTERM", isTorn: false });
  };
  const onAbort = (): void => {
    kept.stop();
    reject(signal.reason);
  };

  signal.addEventListener("abort", onAbort, { once: true });
  timer = setTimeout(
    () => stopFor(rest.lock === undefined ? "time" : "lock"),
    rest.lock === undefined ? deadlineMs : lockWaitMs,
  );
  kept.started.then(
    (start) => {
      wasTorn = start.wasTorn;
      if (rest.lock === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => stopFor("time"), deadlineMs);
    },
    (error: unknown) => {
      // One that is stopped while it waits for the lock is never started.
      if (stopped === undefined) reject(error);
    },
  );
  void kept.ended.then(async (end) => {
    await Promise.race([Promise.all([stdout.ended, stderr.ended]), drained()]);
    settle(end);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    // Who has stopped it and does not wait for it is not held by it either.
    kept.hold(false);
    void kept.ended.then(() => {
      stdout.end();
      stderr.end();
    });
  }
}

interface Collected {
  text(): string;
  ended: Promise<void>;
  /** Nothing more is read. */
  end(): void;
}

function collect(stream: Readable, cap: number, onFull: () => void): Collected {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (part: string) => {
    text += part;
    if (cap === Number.POSITIVE_INFINITY) text = text.slice(-2 * keptWords);
    if (text.length <= cap) return;
    text = text.slice(0, cap);
    onFull();
  });
  const ended = new Promise<void>((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
  return { text: () => text, ended, end: () => void stream.destroy() };
}

const drainMs = 250;

/**
 * What a command has said before its end is in the pipes then, and is read within a few turns. The end of the pipes is
 * not waited for: a process that left its group may hold them for ever.
 */
async function drained(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, drainMs));
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}
