import { EmbeddingError, withDeadline } from "@memslot/core";
import type { Circuit, CircuitState } from "./circuit.ts";
import { localDay } from "./usage-files.ts";

/** How long a call may wait before it sends (again). */
export interface Patience {
  /** Whether it waits until a rate limit is over. */
  readonly waitsForRate: boolean;
  /** Takes so many milliseconds of it. False, and nothing is taken, when that is more than is left. */
  take(milliseconds: number): boolean;
}

/** Leave to send one request. What comes of it is said once; what is said later changes nothing. */
export interface Pass {
  /** True while this is the probe and nothing was said of it: its holder may send again without a new pass. */
  isProbing(): boolean;
  /** The other side answered, whatever it said. */
  answered(): void;
  failed(error: EmbeddingError): void;
  /** Nothing is known: the call was aborted. */
  left(): void;
}

interface EnterOptions {
  signal: AbortSignal;
  /** A person asked for it: an open circuit is tried once. */
  asked: boolean;
  /** This call was refused by a rate limit already, and comes back. */
  isBack: boolean;
  patience: Patience;
}

/**
 * Lets requests through to a provider as its circuit allows. The first request of a process, and the probe of an open
 * circuit, go alone; calls that come meanwhile wait for its outcome, so that a wrong key is asked with once and not by
 * every call at the same time.
 */
export interface Gate {
  /** Throws an `EmbeddingError` of the circuit's kind where no request may be made, or the signal's reason. */
  enter(options: EnterOptions): Promise<Pass>;
}

/** Nobody waits for a first request that takes longer, nor for a probe that is out for longer than it may be. */
const firstRequestMs = 2000;
const probeMs = 60_000;
/** How often it is looked whether another process's probe is over. */
const lookMs = 500;

/** How time and chance go by; tests put their own in place. */
export interface Pace {
  now: () => Date;
  /** Rejects when the signal is aborted. */
  sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** 0 to 1. */
  random: () => number;
}

export function createGate(circuit: Circuit, { now, sleep, random }: Pace): Gate {
  /** The request that goes alone, and until when others wait for its end. */
  let alone: { isProbe: boolean; untilMs: number; end: Promise<void> } | undefined;
  let hasAnswered = false;
  /** Calls that wait for the end of a rate limit. One that comes meanwhile may wait with them. */
  let waiting = 0;

  /** A pass for the one request that goes alone, or for one among others. */
  function pass({ isAlone, isProbe }: { isAlone: boolean; isProbe: boolean }): Pass {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    if (isAlone) alone = { isProbe, untilMs: now().getTime() + (isProbe ? probeMs : firstRequestMs), end };
    let isOpen = true;
    const once = (say?: () => void): void => {
      if (!isOpen) return;
      isOpen = false;
      say?.();
      if (alone?.end === end) alone = undefined;
      resolve();
    };
    const accepted = (): void => {
      hasAnswered = true;
      // Only the probe: a request from before says nothing of what has gone wrong since.
      if (isProbe) circuit.succeed();
    };
    return {
      isProbing: () => isOpen && isProbe,
      answered: () => once(accepted),
      // Whoever finds fault with a text accepts the key and the account.
      failed: (error) => once(error.kind === "input" ? accepted : () => circuit.fail(error)),
      left: () => once(),
    };
  }

  return {
    async enter({ signal, asked, isBack, patience }) {
      let mayAsk = asked;
      for (;;) {
        signal.throwIfAborted();
        const state = circuit.state();
        const othersMs = alone ? alone.untilMs - now().getTime() : 0;
        if (alone && othersMs > 0 && (state ? alone.isProbe : !hasAnswered)) {
          mayAsk = false;
          await untilEnd(alone.end, othersMs, signal);
          continue;
        }
        if (!state) return pass({ isAlone: !alone && !hasAnswered, isProbe: false });
        if (circuit.enter(mayAsk)) return pass({ isAlone: true, isProbe: true });
        const mayWait = state.kind === "rate" && patience.waitsForRate && (isBack || waiting > 0);
        // Spread a little: other processes wait for the same moment.
        const waitMs = Math.max(Date.parse(state.nextProbeAt) - now().getTime(), 0) + lookMs * (0.5 + random() / 2);
        if (!mayWait || !patience.take(waitMs)) throw circuitError(state, now());
        waiting++;
        try {
          await sleep(waitMs, signal);
        } finally {
          waiting--;
        }
      }
    },
  };
}

/** Waits for the end of a request, as long as that may take. Throws the signal's reason. */
async function untilEnd(end: Promise<void>, deadlineMs: number, signal: AbortSignal): Promise<void> {
  try {
    await withDeadline({ what: "another request", deadlineMs, signals: [signal] }, () => end);
  } catch {
    signal.throwIfAborted();
  }
}

function circuitError({ kind, reason, nextProbeAt }: CircuitState, now: Date): EmbeddingError {
  const probeAt = new Date(nextProbeAt);
  const retryAfterMs = Math.max(0, probeAt.getTime() - now.getTime());
  const when =
    retryAfterMs > 0 ? `no request is made before ${timeText(probeAt, now)}` : "it is being tried again just now";
  return new EmbeddingError(kind, `${reason}; ${when}`, { retryAfterMs });
}

/** `14:05`, local time, in full minutes that are not too early; with the day before it when that is not today. */
function timeText(time: Date, now: Date): string {
  const minute = 60_000;
  const rounded = new Date(Math.ceil(time.getTime() / minute) * minute);
  const two = (value: number): string => String(value).padStart(2, "0");
  const clock = `${two(rounded.getHours())}:${two(rounded.getMinutes())}`;
  const day = localDay(rounded);
  return day === localDay(now) ? clock : `${day} ${clock}`;
}
