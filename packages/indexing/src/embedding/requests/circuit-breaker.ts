import { ProviderError, MemoryError, type Sentence, withDeadline } from "@memslot/core";
import { embeddingErrorOf, sentence, sentenceIn } from "@memslot/core/host";
import type { Sql } from "../../ledger/sql.ts";
import { isoDate, localDay } from "../../text/times/calendar.ts";
import type { SharedState } from "./shared-state.ts";
import { OverBudget } from "./usage.ts";

export interface CircuitState extends Sentence {
  kind: "rate" | "quota" | "auth";
  /** ISO 8601: the first failure of this kind in a row. */
  since: string;
  /** ISO 8601: from then on one request is sent as a probe. */
  nextProbeAt: string;
  /** Failed probes in a row, the first failure included. */
  failures: number;
}

interface StoredState extends CircuitState {
  /** ISO 8601: a probe is on its way, and no other is sent before this time. */
  probeUntil: string | null;
}

type Phase = "closed" | "limited" | "refused" | "due" | "probing";
type CircuitEvent = "request" | "asked" | "rate" | "refusal" | "probed";
type Step = "send" | "probe" | "deny" | "open" | "extend" | "close" | "keep";

/** State transitions by event. `limited`: rate limit; `refused`: account or key; `due`: probe allowed. */
const transitions: Record<Phase, Record<CircuitEvent, Step>> = {
  closed: { request: "send", asked: "send", rate: "open", refusal: "open", probed: "keep" },
  limited: { request: "deny", asked: "deny", rate: "extend", refusal: "open", probed: "close" },
  refused: { request: "deny", asked: "probe", rate: "keep", refusal: "extend", probed: "close" },
  due: { request: "probe", asked: "probe", rate: "open", refusal: "open", probed: "close" },
  probing: { request: "deny", asked: "probe", rate: "open", refusal: "open", probed: "close" },
};

/** A request with what its caller is ready to wait for. */
export interface Call {
  signal: AbortSignal;
  asked: boolean;
  /** At most, if failures are transient. */
  attempts: number;
  /** It has several texts, which can be sent in parts. */
  isDivisible: boolean;
  /** Whether the caller waits so many milliseconds before the next attempt. */
  waits(milliseconds: number): boolean;
  /** Whether it waits so many milliseconds for the end of a rate limit. */
  waitsForLimit(milliseconds: number): boolean;
  /** Reports what a repeated request waits for. */
  onRetry?: ((words: string) => void) | undefined;
}

export interface Pass {
  isProbing(): boolean;
  /** Reports the outcome; undefined if the call was aborted. Later reports are ignored. */
  end(outcome?: "answered" | ProviderError): void;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const holds = {
  rate: { firstMs: 5 * second, longestMs: minute },
  refusal: { firstMs: 15 * minute, longestMs: 6 * hour },
};
/** A longer `Retry-After` is cut to this. */
const longestRetryAfterMs = 24 * hour;
const probeMs = minute;
const firstRequestMs = 2 * second;
const pollMs = 500;
const firstPauseMs = 500;
const jitter = 0.2;
const fewAttempts = 2;
const mostRateLimits = 10;

/** The circuit breaker of one provider, shared by all processes of the state folder. */
export class Circuit {
  readonly #shared: SharedState;
  readonly #fingerprint: string;
  /** The request of this process that others wait for. */
  #alone: { isProbe: boolean; untilMs: number; end: Promise<void> } | undefined;
  #hasAnswered = false;
  #waiting = 0;

  constructor(shared: SharedState, fingerprint: string) {
    this.#shared = shared;
    this.#fingerprint = fingerprint;
  }

  state(): CircuitState | undefined {
    const stored = this.#shared.read((sql) => this.#read(sql));
    if (!stored) return undefined;
    const { probeUntil: _, ...state } = stored;
    return { ...state, ...sentence(`provider.${state.kind}`, { error: state.reason }) };
  }

  /** Undefined if no request may be sent now. */
  enter(asked: boolean): Pass | undefined {
    const step = this.#on(asked ? "asked" : "request");
    return step === "deny" ? undefined : this.#pass(step === "probe");
  }

  /** Sends a request with retries. Throws `ProviderError`, `OverBudget`, or the signal's reason. */
  async run<Answer>(
    call: Call,
    provider: string,
    send: (pass: Pass, attempt: number) => Promise<Answer>,
  ): Promise<Answer> {
    let pass: Pass | undefined;
    let [attempt, rateLimits, sent] = [1, 0, 0];
    try {
      for (;;) {
        pass ??= await this.#admit(call, rateLimits > 0);
        let failure: ProviderError;
        try {
          return await send(pass, ++sent);
        } catch (error) {
          call.signal.throwIfAborted();
          if (error instanceof OverBudget) throw error;
          failure = embeddingErrorOf(error, provider);
        }
        if (failure.kind === "rate" && ++rateLimits < mostRateLimits) {
          pass.end(failure);
          pass = undefined;
          continue;
        }
        const pauseMs = pauseAfter(attempt, failure);
        const most = attemptsFor(call, failure);
        if (failure.kind !== "transient" || attempt >= most || !call.waits(pauseMs)) {
          pass.end(failure);
          throw failure;
        }
        attempt++;
        call.onRetry?.(
          `attempt ${attempt} of ${most}, waits ${(pauseMs / 1000).toFixed(1)} s; before: ${failure.message}`,
        );
        if (!pass.isProbing()) {
          pass.end(failure);
          pass = undefined;
        }
        await pause(pauseMs, call.signal);
      }
    } finally {
      pass?.end();
    }
  }

  /** The first request and probes go alone, so that a wrong key is refused once. */
  async #admit({ signal, asked, waitsForLimit }: Call, isBack: boolean): Promise<Pass> {
    let mayAsk = asked;
    for (;;) {
      signal.throwIfAborted();
      const state = this.state();
      const alone = this.#alone;
      const othersMs = alone ? alone.untilMs - Date.now() : 0;
      if (alone && othersMs > 0 && (state ? alone.isProbe : !this.#hasAnswered)) {
        mayAsk = false;
        const limits = { what: "another request", deadlineMs: othersMs, signals: [signal] };
        await withDeadline(limits, () => alone.end).catch(() => undefined);
        continue;
      }
      const pass = this.enter(mayAsk);
      if (pass) return pass;
      if (!state) continue;
      // Other processes wait for the same moment.
      const waitMs = Math.max(Date.parse(state.nextProbeAt) - Date.now(), 0) + pollMs * (0.5 + Math.random() / 2);
      const mayWait = state.kind === "rate" && (isBack || this.#waiting > 0);
      if (!mayWait || !waitsForLimit(waitMs)) throw openError(state);
      this.#waiting++;
      try {
        await pause(waitMs, signal);
      } finally {
        this.#waiting--;
      }
    }
  }

  #pass(isProbe: boolean): Pass {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    if (isProbe || (!this.#alone && !this.#hasAnswered))
      this.#alone = { isProbe, untilMs: Date.now() + (isProbe ? probeMs : firstRequestMs), end };
    let isOpen = true;
    return {
      isProbing: () => isOpen && isProbe,
      end: (outcome) => {
        if (!isOpen) return;
        isOpen = false;
        // A provider that refuses a text accepts the key and the account.
        if (outcome === "answered" || outcome?.kind === "input") {
          this.#hasAnswered = true;
          // An answer to an earlier request does not close it: the failure may be newer.
          if (isProbe) this.#on("probed");
        } else if (outcome && outcome.kind !== "transient") {
          this.#on(outcome.kind === "rate" ? "rate" : "refusal", outcome);
        }
        if (this.#alone?.end === end) this.#alone = undefined;
        resolve();
      },
    };
  }

  #on(event: CircuitEvent, failure?: ProviderError): Step {
    const step = this.#shared.read((sql) => transitions[phaseOf(this.#read(sql))][event]);
    if (step === "send" || step === "deny" || step === "keep") return step;
    return this.#shared.write((sql) => {
      const before = this.#read(sql);
      // Another process may have changed it since.
      const now = transitions[phaseOf(before)][event];
      const after = stateAfter(now, before, failure);
      if (after === before) return now;
      if (after === undefined) sql.run("DELETE FROM circuits WHERE fingerprint = ?", this.#fingerprint);
      else {
        const { kind, reason, since, nextProbeAt, failures, probeUntil } = after;
        const values = [this.#fingerprint, kind, reason, since, nextProbeAt, failures, probeUntil];
        sql.run("INSERT OR REPLACE INTO circuits VALUES (?, ?, ?, ?, ?, ?, ?)", ...values);
      }
      return now;
    });
  }

  #read(sql: Sql): StoredState | undefined {
    const row = "SELECT kind, reason, since, nextProbeAt, failures, probeUntil FROM circuits WHERE fingerprint = ?";
    const state = sql.row<StoredState>(row, this.#fingerprint);
    // Later than any failure can set it: the clock was wrong.
    return state && Date.parse(state.nextProbeAt) <= Date.now() + longestRetryAfterMs ? state : undefined;
  }
}

function phaseOf(state: StoredState | undefined): Phase {
  if (!state) return "closed";
  if (Date.parse(state.nextProbeAt) > Date.now()) return state.kind === "rate" ? "limited" : "refused";
  return state.probeUntil !== null && Date.parse(state.probeUntil) > Date.now() ? "probing" : "due";
}

function stateAfter(
  step: Step,
  before: StoredState | undefined,
  failure: ProviderError | undefined,
): StoredState | undefined {
  if (step === "close") return undefined;
  if (step === "probe" && before) return { ...before, probeUntil: inMs(probeMs) };
  if ((step !== "open" && step !== "extend") || !failure) return before;
  const kind = failure.kind as CircuitState["kind"];
  const reason = failure.message.replaceAll(/\s+/g, " ").trim().slice(0, 500);
  const wanted = failure.retryAfterMs ?? -1;
  const retryAfterMs = wanted >= 0 ? Math.min(wanted, longestRetryAfterMs) : undefined;
  if (step === "extend" && before) {
    // Sent before it opened, or asked for by a person: no probe, so that it does not count.
    const nextProbeAt = [before.nextProbeAt, inMs(retryAfterMs ?? 0)].toSorted().at(-1) ?? "";
    return { ...before, kind, reason, nextProbeAt, probeUntil: null };
  }
  const { failures = 0, since = inMs(0) } = before?.kind === kind ? before : {};
  const nextProbeAt = inMs(holdMs(kind, failures + 1, retryAfterMs));
  return { kind, reason, since, nextProbeAt, failures: failures + 1, probeUntil: null };
}

function holdMs(kind: CircuitState["kind"], failures: number, retryAfterMs: number | undefined): number {
  const { firstMs, longestMs } = kind === "rate" ? holds.rate : holds.refusal;
  const backoff = (count: number): number => (count < 1 ? 0 : Math.min(firstMs * 2 ** (count - 1), longestMs));
  if (retryAfterMs === undefined) return backoff(failures);
  // The first named time is believed. A provider that still refuses after it is asked less often.
  return Math.max(retryAfterMs, backoff(kind === "rate" ? failures - 1 : failures));
}

function inMs(milliseconds: number): string {
  return new Date(Date.now() + milliseconds).toISOString();
}

/** Why a request is not sent while the breaker is open. */
export function openError({ kind, nextProbeAt, ...state }: CircuitState): ProviderError {
  const probeAt = new Date(nextProbeAt);
  const retryAfterMs = Math.max(0, probeAt.getTime() - Date.now());
  const known = { reason: sentenceIn(state), time: timeText(probeAt) };
  const why = sentence(retryAfterMs > 0 ? "provider.waits" : "provider.probing", known);
  return new ProviderError(kind, why, { retryAfterMs });
}

/** `14:05` today, `2026-03-06 00:05` on another day. */
function timeText(time: Date): string {
  const rounded = new Date(Math.ceil(time.getTime() / minute) * minute);
  const clock = [rounded.getHours(), rounded.getMinutes()].map((value) => String(value).padStart(2, "0")).join(":");
  const day = localDay(rounded);
  return day === localDay(new Date()) ? clock : `${isoDate(day)} ${clock}`;
}

function pauseAfter(attempt: number, { retryAfterMs = 0 }: ProviderError): number {
  return Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1) * (1 - jitter + 2 * jitter * Math.random()));
}

/** Few after a timeout, which has taken long already, and after a useless answer, which is paid for. */
function attemptsFor({ isDivisible, attempts }: Call, failure: ProviderError): number {
  if (isTimeLimit(failure)) return isDivisible ? 1 : Math.min(attempts, fewAttempts);
  return failure.hasCost && isDivisible && !isNetworkFault(failure) ? Math.min(attempts, fewAttempts) : attempts;
}

/** Whether a request failed because it took too long: half of it may be quick enough. */
export function isTimeLimit(error: unknown): boolean {
  return chainOf(error).some((cause) => cause.name === "TimeoutError" || MemoryError.is(cause, "UNAVAILABLE"));
}

/** Whether the connection failed: then no text is to blame. */
export function isNetworkFault(error: unknown): boolean {
  return chainOf(error).some(
    (cause) =>
      /^(?:fetch failed|terminated)$/.test(cause.message) ||
      ("code" in cause && /^E(?!RR_)|^UND_ERR|CERT|SSL|TLS/.test(String(cause.code))),
  );
}

function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause);
  return chain;
}

export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const wait = (): Promise<void> => new Promise((resolve) => void (timer = setTimeout(resolve, milliseconds)));
  await withDeadline({ what: "a pause", signals: [signal] }, wait).catch(() => signal.throwIfAborted());
  clearTimeout(timer);
}
