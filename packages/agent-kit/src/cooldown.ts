import type { FailureAdvice } from "./tools/failure-advice.ts";

/** Keeps a failing backend from being asked again and again: for a while after a failure its reason is repeated. */
export interface Cooldown {
  /** The last failure and the time left, while it lasts. */
  current(): { advice: FailureAdvice; remainingMs: number } | undefined;
  start(advice: FailureAdvice): void;
  clear(): void;
}

export function createCooldown(options: { durationMs: number; now: () => number }): Cooldown {
  let failure: { advice: FailureAdvice; untilMs: number } | undefined;
  return {
    current: () => {
      if (failure === undefined) return undefined;
      const remainingMs = failure.untilMs - options.now();
      return remainingMs > 0 ? { advice: failure.advice, remainingMs } : undefined;
    },
    start: (advice) => {
      failure = { advice, untilMs: options.now() + options.durationMs };
    },
    clear: () => {
      failure = undefined;
    },
  };
}
