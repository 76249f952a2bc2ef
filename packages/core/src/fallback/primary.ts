import { MemoryError, isAbort, isUnavailable, sentenceOf } from "../contract/errors.ts";
import type { Sentence } from "../contract/sentences.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { type Extend, abortErrorOf, withDeadline } from "../guard/deadline.ts";
import { checkManager } from "../guard/call-table.ts";

/** A manager that is open or can be opened: the primary, or its standby. */
export interface FallbackBackend {
  /** The id of its plugin, for messages and status. */
  name: string;
  manager?: MemorySearchManager | undefined;
  /** Called for the first call, and again for each retry after a failure. */
  open?(signal: AbortSignal): Promise<MemorySearchManager>;
  /** Why a primary could not be opened: the standby answers until a retry succeeds. */
  failure?: unknown;
}

/** Cooldown of the primary after its first failure. It doubles with every failed retry, up to `longestCooldownMs`. */
const cooldownMs = 30_000;
const longestCooldownMs = 600_000;
/** How long a call waits for a retry of the primary before the standby answers. The retry continues. */
const retryWaitMs = 1_000;

export interface Outage extends Sentence {
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

/** Opens a manager on first use, and again after a failure. */
export class LazyManager {
  readonly name: string;
  current: MemorySearchManager | undefined;
  protected readonly closing: AbortController = new AbortController();
  readonly #source: FallbackBackend;
  readonly #openMs: number;
  #opening: Promise<MemorySearchManager> | undefined;
  #work: Promise<MemorySearchManager> | undefined;

  constructor(source: FallbackBackend, openMs: number) {
    this.name = source.name;
    this.current = source.manager;
    this.#source = source;
    this.#openMs = openMs;
  }

  /** Concurrent callers share one open. Throws `UNAVAILABLE` after the deadline and `CLOSED` after `close`. */
  async get(signal: AbortSignal | undefined): Promise<MemorySearchManager> {
    if (this.closing.signal.aborted) throw new MemoryError("CLOSED", `"${this.name}" is closed; open the memory again`);
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

/** A manager behind a circuit breaker: after a failure and a cooldown, one call retries it. */
export class Primary extends LazyManager {
  outage: Outage | undefined;
  readonly #trials = new Set<Promise<unknown>>();
  #isTrying = false;
  #waitMs = 0;
  #retryAtMs = 0;
  #failed: string | undefined;
  #turn = 0;

  constructor(source: FallbackBackend, openMs: number) {
    super(source, openMs);
    if (source.failure !== undefined) this.#startCooldown(source.failure, undefined);
  }

  async ask<T>(call: PrimaryCall<T>): Promise<Answered<T>> {
    const { outage } = this;
    if (outage === undefined) return this.#attempt(call, call.signal, false);
    const proves = ["search", this.#failed ?? call.what].includes(call.what);
    if (this.#isTrying || !proves || performance.now() < this.#retryAtMs) return { outage };
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
      if (isTrial) return { outage: this.#startCooldown(error, what, this.#waitMs * 2) };
      // Of several concurrent failures the first counts; ignore calls that started before the recovery.
      if (this.outage === undefined && turn !== this.#turn) return { outage: this.#outageOf(error, 0) };
      return { outage: this.outage ?? this.#startCooldown(error, what) };
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
      throw new MemoryError("UNAVAILABLE", sentenceOf(error), { cause: error });
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
    const timer = setTimeout(resolve, retryWaitMs, undefined);
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

  #startCooldown(error: unknown, what: string | undefined, forMs = cooldownMs): Outage {
    this.#failed = what;
    if (this.outage === undefined) this.#turn += 1;
    this.#waitMs = Math.min(forMs, longestCooldownMs);
    this.#retryAtMs = performance.now() + this.#waitMs;
    return (this.outage = this.#outageOf(error, this.#waitMs));
  }

  #outageOf(error: unknown, forMs: number): Outage {
    const now = Date.now();
    const [from, until] = [now, now + forMs].map((ms) => new Date(ms).toISOString()) as [string, string];
    return { ...sentenceOf(error), error, since: this.outage?.since ?? from, retryAt: until };
  }
}
