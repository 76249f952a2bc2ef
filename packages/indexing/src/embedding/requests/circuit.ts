import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { EmbeddingError, withDeadline } from "@memslot/core";
import { replaceFileSync } from "@memslot/core/files";
import { isoDate, localDay } from "../../text/times/calendar.ts";

/** Why a provider is left alone, and until when. */
export interface CircuitState {
  kind: "rate" | "quota" | "auth";
  /** The message of the failure, on one line. */
  reason: string;
  /** ISO 8601: when it began to fail in this way. */
  since: string;
  /** ISO 8601: one request may be made from then on. */
  nextProbeAt: string;
  /** Probes that failed one after the other, the first failure included. */
  failures: number;
}

interface StoredState extends CircuitState {
  /** ISO 8601: until then a caller has the probe. */
  probeUntil?: string | undefined;
}

/** A permission to send one request. */
export interface Pass {
  /** True while this is the probe and its outcome is unknown: its holder may send again without a new pass. */
  isProbing(): boolean;
  /** Says once what came of it; undefined where nothing is known, as the call was aborted. */
  end(outcome?: "answered" | EmbeddingError): void;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const firstRateHold = 5 * second;
const longestRateHold = minute;
const firstHold = 15 * minute;
const longestHold = 6 * hour;
/** A provider that wants to be left alone for longer is asked once a day. */
const longestHonoured = 24 * hour;
const probeTakes = minute;
/** Other calls wait no longer for a first request. */
const firstRequestTakes = 2 * second;
/** The interval of checks whether another process's probe is over. */
const lookMs = 500;

/**
 * What is remembered of a provider's failures, by every process that shares the state folder. Open means that no request
 * is made; when its time has come one request is let through, and how that goes closes it or keeps it open for longer.
 */
export class Circuit {
  /** From 0 to 1; tests put their own in place, as they do with the clock. */
  readonly random: () => number;
  readonly #now: () => Date;
  readonly #file: string;
  /** The state that could not be written. It counts for as long as the file is what it was then. */
  #unwritten: { instead: string | undefined; state: StoredState | undefined } | undefined;
  /** The request of this process that goes alone, and until when others wait for its end. */
  #alone: { isProbe: boolean; untilMs: number; end: Promise<void> } | undefined;
  #hasAnswered = false;
  /** Calls that wait for the end of a rate limit. One that comes meanwhile may wait with them. */
  #waiting = 0;

  constructor(options: { stateDir: string; fingerprint: string; now?: () => Date; random?: () => number }) {
    const { stateDir, fingerprint, now = () => new Date(), random = Math.random } = options;
    this.random = random;
    this.#now = now;
    this.#file = path.join(stateDir, "embeddings", "circuits", `${safeName(fingerprint)}.json`);
  }

  /** Undefined while it is closed. Reads one small file. */
  state(): CircuitState | undefined {
    const stored = this.#read();
    if (!stored) return undefined;
    const { kind, reason, since, nextProbeAt, failures } = stored;
    return { kind, reason, since, nextProbeAt, failures };
  }

  /**
   * True when a request may be made now: it is closed, or its probe is due and this caller has got it, for a minute.
   * One that a person has `asked` for is let through at any time, but not before the end of a rate limit.
   */
  enter(asked: boolean): boolean {
    const state = this.#read();
    if (!state) return true;
    const time = this.#time();
    const isTaken = state.probeUntil !== undefined && Date.parse(state.probeUntil) > time;
    const isDue = Date.parse(state.nextProbeAt) <= time && !isTaken;
    if (!isDue && !(asked && state.kind !== "rate")) return false;
    this.#keep({ ...state, probeUntil: new Date(time + probeTakes).toISOString() });
    return true;
  }

  /** Opens it, or holds it open for longer. Failures other than `rate`, `quota` and `auth` change nothing. */
  fail({ kind, message, retryAfterMs }: EmbeddingError): void {
    if (kind !== "rate" && kind !== "quota" && kind !== "auth") return;
    const time = this.#time();
    const before = this.#read();
    const heldUntil = before ? Date.parse(before.nextProbeAt) : 0;
    const told = retryAfterMs !== undefined && retryAfterMs >= 0 ? Math.min(retryAfterMs, longestHonoured) : undefined;
    const reason = message.replaceAll(/\s+/g, " ").trim().slice(0, 500);
    if (before && heldUntil > time && (before.kind === "rate") === (kind === "rate")) {
      // Sent before it opened, or requested by a person: no probe, so it does not hold for longer than before.
      const nextProbeAt = new Date(Math.max(heldUntil, time + (told ?? 0))).toISOString();
      return this.#keep({ ...before, kind, reason, nextProbeAt, probeUntil: undefined });
    }
    // Too many requests are the smaller trouble of an account with nothing left.
    if (before && heldUntil > time && kind === "rate") return;
    const failures = before?.kind === kind ? before.failures + 1 : 1;
    const since = before?.kind === kind ? before.since : new Date(time).toISOString();
    this.#keep({
      kind,
      reason,
      since,
      nextProbeAt: new Date(time + hold(kind, failures, told)).toISOString(),
      failures,
    });
  }

  /** Closes it. */
  succeed(): void {
    if (this.#read()) this.#keep(undefined);
  }

  /**
   * Waits until one request may be sent. The first request of a process, and the probe of an open circuit, go alone;
   * calls that come meanwhile wait for its outcome, so that a wrong key is asked with once and not by every call at the
   * same time. Throws an `EmbeddingError` of the circuit's kind where no request may be made, or the signal's reason.
   */
  async pass(call: {
    signal: AbortSignal;
    /** A person asked for it: an open circuit is tried once. */
    asked: boolean;
    /** A rate limit has refused this call already. */
    isBack: boolean;
    /** Whether the call waits so many milliseconds for the end of a rate limit. */
    waits: (milliseconds: number) => boolean;
  }): Promise<Pass> {
    const { signal, isBack, waits } = call;
    let mayAsk = call.asked;
    for (;;) {
      signal.throwIfAborted();
      const state = this.state();
      const alone = this.#alone;
      const othersMs = alone ? alone.untilMs - this.#time() : 0;
      if (alone && othersMs > 0 && (state ? alone.isProbe : !this.#hasAnswered)) {
        mayAsk = false;
        const limits = { what: "another request", deadlineMs: othersMs, signals: [signal] };
        await withDeadline(limits, () => alone.end).catch(() => undefined);
        continue;
      }
      if (!state) return this.#passFor({ isAlone: !alone && !this.#hasAnswered, isProbe: false });
      if (this.enter(mayAsk)) return this.#passFor({ isAlone: true, isProbe: true });
      // Spread a little: other processes wait for the same moment.
      const waitMs = Math.max(Date.parse(state.nextProbeAt) - this.#time(), 0) + lookMs * (0.5 + this.random() / 2);
      const mayWait = state.kind === "rate" && (isBack || this.#waiting > 0);
      if (!mayWait || !waits(waitMs)) throw circuitError(state, this.#now());
      this.#waiting++;
      try {
        await pause(waitMs, signal);
      } finally {
        this.#waiting--;
      }
    }
  }

  #passFor({ isAlone, isProbe }: { isAlone: boolean; isProbe: boolean }): Pass {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    if (isAlone) this.#alone = { isProbe, untilMs: this.#time() + (isProbe ? probeTakes : firstRequestTakes), end };
    let isOpen = true;
    return {
      isProbing: () => isOpen && isProbe,
      end: (outcome) => {
        if (!isOpen) return;
        isOpen = false;
        // A provider that finds fault with a text accepts the key and the account.
        if (outcome === "answered" || outcome?.kind === "input") {
          this.#hasAnswered = true;
          // Only the probe: a request from before says nothing of what has gone wrong since.
          if (isProbe) this.succeed();
        } else if (outcome) this.fail(outcome);
        if (this.#alone?.end === end) this.#alone = undefined;
        resolve();
      },
    };
  }

  #time(): number {
    return this.#now().getTime();
  }

  #read(): StoredState | undefined {
    const text = readText(this.#file);
    if (this.#unwritten && this.#unwritten.instead === text) return this.#unwritten.state;
    return text === undefined ? undefined : parse(text, this.#time());
  }

  #keep(state: StoredState | undefined): void {
    try {
      if (state) replaceFileSync(this.#file, `${JSON.stringify(state)}\n`);
      else rmSync(this.#file, { force: true });
      this.#unwritten = undefined;
    } catch {
      this.#unwritten = { instead: readText(this.#file), state };
    }
  }
}

/** Milliseconds until the next probe. `told` is what the other side asks for. */
function hold(kind: CircuitState["kind"], failures: number, told: number | undefined): number {
  if (kind !== "rate") return Math.max(Math.min(firstHold * 2 ** (failures - 1), longestHold), told ?? 0);
  const backoff = (steps: number): number =>
    steps < 1 ? 0 : Math.min(firstRateHold * 2 ** (steps - 1), longestRateHold);
  // The first time it is believed; one that goes on refusing after the time it named is asked ever more rarely.
  return told === undefined ? backoff(failures) : Math.max(told, backoff(failures - 1));
}

function parse(text: string, time: number): StoredState | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const state = value as StoredState;
    const isWhole =
      ["rate", "quota", "auth"].includes(state.kind) &&
      typeof state.reason === "string" &&
      Number.isFinite(Date.parse(state.since)) &&
      Number.isInteger(state.failures) &&
      // Later than any failure can hold it: the clock was wrong when it was written.
      Date.parse(state.nextProbeAt) <= time + longestHonoured;
    return isWhole ? state : undefined;
  } catch {
    return undefined;
  }
}

/** A fingerprint that is a hash stays readable; any other text becomes one. */
function safeName(fingerprint: string): string {
  if (/^[0-9a-f]{8,64}$/.test(fingerprint)) return fingerprint;
  return createHash("sha256").update(fingerprint).digest("hex").slice(0, 32);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
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
  return day === localDay(now) ? clock : `${isoDate(day)} ${clock}`;
}

/** Waits. Throws the signal's reason when that comes first. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(signal.reason);
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
