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
