/** Lets one piece of work run at a time, in the order of the calls. */
export interface Turns {
  /** Rejects with the reason of the signal when that is aborted before it is its turn. */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** When nothing runs and nothing waits. */
  idle(): Promise<void>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const onAbort = (): void => reject(signal.reason);
      signal.throwIfAborted();
      signal.addEventListener("abort", onAbort, { once: true });
      const run = async (): Promise<void> => {
        if (signal.aborted) return;
        await work().then(resolve, reject);
      };
      last = last.then(run);
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    async idle() {
      for (let seen: unknown; seen !== last;) {
        seen = last;
        await last;
      }
    },
  };
}
