/** Two clocks, in milliseconds: one that never goes back, for waiting, and that of the wall, for people. */
export interface BreakerClock {
  monotonicMs(): number;
  /** Since 1970. */
  wallMs(): number;
}

export interface BreakerOptions {
  /** How long what has failed is left alone the first time. */
  holdOffMs: number;
  /** The longest time that it is left alone: the hold-off doubles with every try that fails. */
  maxHoldOffMs: number;
  clock: BreakerClock;
}

interface Failure {
  reason: string;
  error: unknown;
}

/** What wants to be let through. */
interface BreakerCall {
  /** Its kind. */
  what: string;
  /** When this kind works, all is taken to be well. */
  isMain: boolean;
}

/** Why something is left alone, since when, and before when it is not tried again (ISO 8601). */
export interface Outage extends Readonly<Failure> {
  readonly since: string;
  readonly retryAt: string;
}

/**
 * The right to make one call. What came of it is told once. What is told late, when things have changed since it was
 * given, changes nothing.
 */
export interface Admission {
  /** True for the one call that tries whether it is back. */
  readonly isTrial: boolean;
  succeeded(): void;
  /** Gives the outage to be told: its own, or that which another call has found before it. */
  failed(failure: Failure): Outage;
  /** The call says nothing: it was aborted, or failed for a reason that lies in the call. */
  withdrawn(): void;
}

/**
 * Remembers that something does not work, so that not every call has to find out. After a failure it is left alone for
 * a while; then one call tries it again, and the others go elsewhere until that has ended. A success ends the outage.
 * Only a call of the main kind, or of the kind that has failed, tries: that another kind works would prove nothing.
 */
export interface Breaker {
  /** Undefined while all is well. */
  outage(): Outage | undefined;
  /** No admission: the call has to go elsewhere, because of the outage. A trial has both. */
  admit(
    call: BreakerCall,
  ): { admission: Admission; outage: Outage | undefined } | { admission: undefined; outage: Outage };
  /** Begins an outage that was found by other means than a call. */
  trip(failure: Failure): Outage;
}

export function createBreaker({ holdOffMs, maxHoldOffMs, clock }: BreakerOptions): Breaker {
  let outage: Outage | undefined;
  let waitMs = 0;
  let retryAtMs = 0;
  let trying = false;
  /** The kind of call that failed; undefined where the outage was found by other means. */
  let failed: string | undefined;
  /** How often it has changed between working and not working. */
  let turn = 0;

  function leaveAlone(failure: Failure, what: string | undefined, forMs: number): Outage {
    failed = what;
    if (outage === undefined) turn += 1;
    waitMs = Math.min(forMs, maxHoldOffMs);
    retryAtMs = clock.monotonicMs() + waitMs;
    outage = outageOf(failure, outage?.since, waitMs);
    return outage;
  }

  function outageOf(failure: Failure, since: string | undefined, forMs: number): Outage {
    const now = clock.wallMs();
    return { ...failure, since: since ?? isoTime(now), retryAt: isoTime(now + forMs) };
  }

  function call({ what }: BreakerCall): Admission {
    const admittedIn = turn;
    return {
      isTrial: false,
      succeeded: () => undefined,
      failed(failure) {
        // Of several calls that fail together the first one counts.
        if (outage !== undefined) return outage;
        // It was on its way before a later call has found that all is well again.
        return admittedIn === turn ? leaveAlone(failure, what, holdOffMs) : outageOf(failure, undefined, 0);
      },
      withdrawn: () => undefined,
    };
  }

  function trial({ what }: BreakerCall): Admission {
    trying = true;
    return {
      isTrial: true,
      succeeded() {
        trying = false;
        outage = undefined;
        turn += 1;
      },
      failed(failure) {
        trying = false;
        return leaveAlone(failure, what, waitMs * 2);
      },
      withdrawn() {
        trying = false;
      },
    };
  }

  return {
    outage: () => outage,

    admit(wanted) {
      if (outage === undefined) return { admission: call(wanted), outage };
      const proves = wanted.isMain || failed === undefined || failed === wanted.what;
      if (trying || !proves || clock.monotonicMs() < retryAtMs) return { admission: undefined, outage };
      return { admission: trial(wanted), outage };
    },

    trip: (failure) => leaveAlone(failure, undefined, holdOffMs),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
