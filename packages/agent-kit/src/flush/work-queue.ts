/** Work that goes on behind, one piece after another. */
export interface WorkQueue {
  readonly isIdle: boolean;
  start(run: () => Promise<void>): void;
  /** Waits until nothing is left, also of what is started meanwhile. Never throws. */
  settled(): Promise<void>;
}

export function createWorkQueue(onError: (error: unknown) => void): WorkQueue {
  let last: Promise<void> = Promise.resolve();
  let left = 0;
  return {
    get isIdle() {
      return left === 0;
    },
    start(run) {
      left++;
      last = last
        .then(run)
        .catch(onError)
        .finally(() => left--);
    },
    async settled() {
      for (let seen: Promise<void> | undefined; seen !== last;) {
        seen = last;
        await seen;
      }
    },
  };
}
