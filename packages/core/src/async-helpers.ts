/** Blocks repeated calls after a failure: until the cooldown ends, the failure is reported again without a call. */
export interface Cooldown<Failure> {
  current(): { failure: Failure; remainingMs: number } | undefined;
  start(failure: Failure, forMs: number): void;
  end(): void;
}

/** `now`: a clock that never goes back, in milliseconds. */
export function createCooldown<Failure>(now: () => number = () => performance.now()): Cooldown<Failure> {
  let running: { failure: Failure; untilMs: number } | undefined;
  return {
    current() {
      const remainingMs = running === undefined ? 0 : running.untilMs - now();
      return running !== undefined && remainingMs > 0 ? { failure: running.failure, remainingMs } : undefined;
    },
    start(failure, forMs) {
      running = { failure, untilMs: now() + forMs };
    },
    end() {
      running = undefined;
    },
  };
}

/** Makes something when it is first asked for, and keeps it. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;

  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** A signal that is aborted before the task ends rejects at once. A task that has not started by then never runs. */
  async run<Result>(task: () => Result | Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    this.#open++;
    const result = this.#last.then(() => {
      signal?.throwIfAborted();
      return task();
    });
    const leave = (): void => void this.#open--;
    this.#last = result.then(leave, leave);
    if (signal === undefined) return await result;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    result.then(resolve, reject);
    return await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Waits until no task runs or waits, including tasks added meanwhile. */
  async settled(): Promise<void> {
    let awaited: Promise<unknown> | undefined;
    while (awaited !== this.#last) {
      awaited = this.#last;
      await awaited;
    }
  }
}

/** Shows a notice as a warning of the process: the default without a `notify` function. */
export function warn(line: string): void {
  process.emitWarning(line, "MemslotWarning");
}
