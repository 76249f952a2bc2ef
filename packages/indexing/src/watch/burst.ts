/** Events that come one after the other, seen as one. */
export interface Burst {
  touch(): void;
  cancel(): void;
}

/**
 * Calls `began` with the first event, and `ended` when no other has come for `quietMs`, or `ceilingMs` after the first
 * however many come. The timer keeps no process alive.
 */
export function createBurst(input: {
  quietMs: number;
  ceilingMs: number;
  began: () => void;
  ended: () => void;
}): Burst {
  const { quietMs, ceilingMs } = input;
  let timer: NodeJS.Timeout | undefined;
  let firstAt = 0;

  function end(): void {
    clearTimeout(timer);
    timer = undefined;
    input.ended();
  }

  return {
    touch() {
      // A clock that somebody sets must neither end a burst nor keep it open.
      const now = performance.now();
      if (timer === undefined) {
        firstAt = now;
        timer = setTimeout(end, quietMs).unref();
        input.began();
      } else if (now - firstAt + quietMs < ceilingMs) timer.refresh();
      // From here on the timer that runs is the last one: it ends within the ceiling.
    },

    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
