import type { QmdLimits } from "../qmd-contract.ts";

/** When the long-lived child may be started. */
export interface RestartPlan {
  /** It ended and nobody had asked for that. */
  failed(): void;
  /** Starts anew, after something was changed that may have been the cause. */
  reset(): void;
  /** `start`, or that it has to wait, or that it has failed too often of late. */
  now(): "start" | "wait" | "given up";
}

const failuresAllowed = 3;

/**
 * After each failure a longer wait, and after three within the window none is started until the first of them has left
 * it. So a child that cannot live is given up for a while and never for good.
 */
export function createRestartPlan(limits: Pick<QmdLimits, "restartMs" | "crashWindowMs">): RestartPlan {
  let failures: number[] = [];
  const recent = (): number[] => (failures = failures.filter((at) => performance.now() - at < limits.crashWindowMs));
  return {
    failed: () => void failures.push(performance.now()),
    reset: () => void (failures = []),
    now() {
      const { length } = recent();
      if (length >= failuresAllowed) return "given up";
      const waitMs = limits.restartMs[Math.min(length, limits.restartMs.length) - 1] ?? 0;
      return performance.now() - (failures.at(-1) ?? Number.NEGATIVE_INFINITY) < waitMs ? "wait" : "start";
    },
  };
}
