import { MemoryError, isAbort, isUnavailable, messageOf } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { type Extend, abortErrorOf, withDeadline } from "../guard/deadline.ts";
import { checkManager } from "../guard/calls.ts";

/** `nowMs` is monotonic, `wallMs` is Unix time; both in milliseconds. */
export interface BreakerClock {
  monotonicMs(): number;
  wallMs(): number;
}

/** The primary; `name` is the id of its plugin, for messages and status. */
export type FallbackPrimary =
  | { name: string; manager: MemorySearchManager }
  | {
      name: string;
      /** Called for the first call, and again for each retry after a failure. */
      open(signal: AbortSignal): Promise<MemorySearchManager>;
      failure?: unknown;
    };

export interface FallbackOptions {
  /** How long the primary is left alone after a failure, 30 s. It doubles with every try that fails. */
  holdOffMs?: number | undefined;
  /** The longest hold-off; 10 min. */
  maxHoldOffMs?: number | undefined;
  /** How long a call waits for a retry of the primary before the standby answers; 1 s. The retry continues. */
  patienceMs?: number | undefined;
  /** Time limit of a search before the standby is asked; 15 s, half of the guard's limit. */
  searchMs?: number | undefined;
  /** Time limit of reading a file; 5 s. */
  readFileMs?: number | undefined;
  /** Time limit of a probe; 30 s. */
  probeMs?: number | undefined;
  /** Time limit of a sync without progress; 5 min. */
  syncIdleMs?: number | undefined;
  /** How long opening the standby or the primary may take; 60 s. */
  openMs?: number | undefined;
  clock?: BreakerClock | undefined;
}

export interface Outage {
  readonly reason: string;
  readonly error: unknown;
  readonly since: string;
  readonly retryAt: string;
}

export type Answered<T> = { value: T } | { outage: Outage };

interface PrimaryCall<T> {
  what: string;
  deadlineMs: number;
  signal: AbortSignal;
  /** Called when half of the time is over, unless another manager answers already. */
  onSlow?: (() => void) | undefined;
  run: (manager: MemorySearchManager, signal: AbortSignal, extend: Extend) => Promise<T>;
}

interface Source {
  name: string;
  manager?: MemorySearchManager | undefined;
  open?(signal: AbortSignal): Promise<MemorySearchManager>;
}

/** Opens a manager on first use, and again after a failure. */
export class LazyManager {
  readonly name: string;
  current: MemorySearchManager | undefined;
  protected readonly closing: AbortController = new AbortController();
  readonly #source: Source;
  readonly #openMs: number;
  #opening: Promise<MemorySearchManager> | undefined;
  #work: Promise<MemorySearchManager> | undefined;

  constructor(source: Source, openMs = 60_000) {
    this.name = source.name;
    this.current = source.manager;
    this.#source = source;
    this.#openMs = openMs;
  }

  /** Concurrent callers share one open. Throws `UNAVAILABLE` after the deadline and `CLOSED` after `close`. */
  async get(signal: AbortSignal | undefined): Promise<MemorySearchManager> {
    if (this.closing.signal.aborted)
      throw new MemoryError("CLOSED", `"${this.name}" is closed; open the memory again to go on`);
    if (this.current) return this.current;
    const shared = (this.#opening ??= this.#start());
    shared.catch(() => undefined);
    return withDeadline({ what: `opening "${this.name}"`, signals: [signal] }, () => shared);
  }

  async close(): Promise<void> {
    this.closing.abort(new MemoryError("CLOSED", `"${this.name}" was closed`));
    await this.#work?.catch(() => undefined);
    await this.current?.close?.();
  }

  async #start(): Promise<MemorySearchManager> {
    const { signal } = this.closing;
    const limits = { what: `opening "${this.name}"`, deadlineMs: this.#openMs, signals: [signal] };
    try {
      return (this.current = await withDeadline(limits, (inner) => (this.#work = this.#open(inner))));
    } catch (error) {
      if (!signal.aborted) this.#work = undefined;
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }

  async #open(signal: AbortSignal): Promise<MemorySearchManager> {
    const opened = (await this.#source.open?.(signal)) as MemorySearchManager;
    if (signal.aborted) {
      await opened?.close?.();
      throw abortErrorOf(signal);
    }
    checkManager(this.name, opened);
    return opened;
  }
}

const systemClock: BreakerClock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/** A manager behind a circuit breaker: after a failure and a hold-off, one call retries it. */
export class Primary extends LazyManager {
  outage: Outage | undefined;
  readonly #options: FallbackOptions;
  readonly #clock: BreakerClock;
  readonly #trials = new Set<Promise<unknown>>();
  #isTrying = false;
  #waitMs = 0;
  #retryAtMs = 0;
  #failed: string | undefined;
  #turn = 0;

  constructor(source: FallbackPrimary, options: FallbackOptions) {
    super(source, options.openMs);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    if ("failure" in source && source.failure !== undefined) this.#leaveAlone(source.failure, undefined);
  }

  async ask<T>(call: PrimaryCall<T>): Promise<Answered<T>> {
    const { outage } = this;
    if (outage === undefined) return this.#attempt(call, call.signal, false);
    const proves = ["search", this.#failed ?? call.what].includes(call.what);
    if (this.#isTrying || !proves || this.#clock.monotonicMs() < this.#retryAtMs) return { outage };
    // For a sync a late answer is as good as one of another manager.
    return call.what === "sync" ? this.#attempt(call, call.signal, true) : this.#tryBriefly(call, outage);
  }

  override async close(): Promise<void> {
    this.closing.abort(new MemoryError("CLOSED", `"${this.name}" was closed`));
    await Promise.allSettled(this.#trials);
    await super.close();
  }

  async #attempt<T>(call: PrimaryCall<T>, signal: AbortSignal, isTrial: boolean): Promise<Answered<T>> {
    const { what, deadlineMs, onSlow, run } = call;
    const turn = this.#turn;
    if (isTrial) this.#isTrying = true;
    const slow = onSlow && !isTrial ? setTimeout(onSlow, deadlineMs / 2) : undefined;
    try {
      const limits = { what: `${what} of "${this.name}"`, deadlineMs, signals: [signal, this.closing.signal] };
      const value = await withDeadline(limits, async (inner, extend) =>
        run(await this.#getFor(isTrial, inner), inner, extend),
      );
      if (isTrial) {
        this.outage = undefined;
        this.#turn += 1;
      }
      return { value };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (isTrial) return { outage: this.#leaveAlone(error, what, this.#waitMs * 2) };
      // Of several concurrent failures the first counts; ignore calls that started before the recovery.
      if (this.outage === undefined && turn !== this.#turn) return { outage: this.#outageOf(error, 0) };
      return { outage: this.outage ?? this.#leaveAlone(error, what) };
    } finally {
      clearTimeout(slow);
      if (isTrial) this.#isTrying = false;
    }
  }

  async #getFor(isTrial: boolean, signal: AbortSignal): Promise<MemorySearchManager> {
    try {
      return await this.get(signal);
    } catch (error) {
      // The standby answers already: report why the primary cannot be reopened.
      if (!isTrial || isAbort(error) || MemoryError.is(error, "CLOSED")) throw error;
      throw new MemoryError("UNAVAILABLE", messageOf(error), { cause: error });
    }
  }

  /** Retries with a short wait. The caller's abort ends the retry while the caller waits for it. */
  async #tryBriefly<T>(call: PrimaryCall<T>, outage: Outage): Promise<Answered<T>> {
    const { signal } = call;
    const own = new AbortController();
    const onAbort = (): void => own.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, this.#options.patienceMs ?? 1_000, undefined);
    const trial = this.#attempt(call, own.signal, true);
    try {
      const answer = await Promise.race([trial, late]);
      if (answer !== undefined) return answer;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
    this.#trials.add(trial);
    const forget = (): unknown => this.#trials.delete(trial);
    trial.then(forget, forget);
    return { outage };
  }

  #leaveAlone(error: unknown, what: string | undefined, forMs = this.#options.holdOffMs ?? 30_000): Outage {
    this.#failed = what;
    if (this.outage === undefined) this.#turn += 1;
    this.#waitMs = Math.min(forMs, this.#options.maxHoldOffMs ?? 600_000);
    this.#retryAtMs = this.#clock.monotonicMs() + this.#waitMs;
    return (this.outage = this.#outageOf(error, this.#waitMs));
  }

  #outageOf(error: unknown, forMs: number): Outage {
    const now = this.#clock.wallMs();
    const [from, until] = [now, now + forMs].map((ms) => new Date(ms).toISOString()) as [string, string];
    return { reason: messageOf(error), error, since: this.outage?.since ?? from, retryAt: until };
  }
}
