import pLimit from "p-limit";

/** Lets one piece of work run at a time, in the order of the calls. */
export interface Turns {
  /** Rejects with the reason of the signal when that is aborted before it is its turn. */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** When nothing runs and nothing waits. */
  idle(): Promise<void>;
}

export function createTurns(): Turns {
  const limit = pLimit(1);
  return {
    async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const onAbort = (): void => reject(signal.reason);
      signal.throwIfAborted();
      signal.addEventListener("abort", onAbort, { once: true });
      void limit(async () => {
        if (!signal.aborted) await work().then(resolve, reject);
      });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    async idle() {
      while (limit.activeCount + limit.pendingCount > 0) await limit(() => undefined);
    },
  };
}
