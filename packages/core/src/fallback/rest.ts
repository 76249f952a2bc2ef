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
