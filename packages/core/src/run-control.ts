// When work runs: not again for a while after a failure, once and only when it is needed, or one at a time.

/** Keeps what has failed from being asked again and again: for a while it is left alone, and its failure is repeated. */
export interface Rest<Failure> {
  /** The failure and the time left, in milliseconds, while it lasts. */
  current(): { failure: Failure; remainingMs: number } | undefined;
  /** `forMs` may be `Infinity`. */
  start(failure: Failure, forMs: number): void;
  end(): void;
}

/** `now`: a clock that never goes back, in milliseconds. */
export function createRest<Failure>(now: () => number = () => performance.now()): Rest<Failure> {
  let rest: { failure: Failure; untilMs: number } | undefined;
  return {
    current() {
      const remainingMs = rest === undefined ? 0 : rest.untilMs - now();
      return rest !== undefined && remainingMs > 0 ? { failure: rest.failure, remainingMs } : undefined;
    },
    start(failure, forMs) {
      rest = { failure, untilMs: now() + forMs };
    },
    end() {
      rest = undefined;
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

/** Runs tasks one at a time, in the order of the calls. */
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

  /**
   * Waits until no task runs or waits, including tasks that are added meanwhile. Adds no task of its own: two callers
   * that each wait by adding one would keep each other waiting for ever.
   */
  async settled(): Promise<void> {
    let awaited: Promise<unknown> | undefined;
    while (awaited !== this.#last) {
      awaited = this.#last;
      await awaited;
    }
  }
}
