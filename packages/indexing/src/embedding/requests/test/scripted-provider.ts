import { ProviderError, type EmbeddingCallOptions, type EmbeddingProvider } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { vi } from "vitest";
import { never } from "../../../../test/support/context.ts";
import { Circuit } from "../circuit-breaker.ts";
import { type EmbedOptions, EmbeddingRequests } from "../requests.ts";
import { SharedState } from "../shared-state.ts";
import { Usage } from "../usage.ts";

/**
 * How one request goes: an error, no answer at all, a wait in milliseconds before a good one, or what the answer is.
 */
type Step = Error | "ok" | "hang" | number | ((texts: readonly string[]) => ArrayLike<number>[]);

export interface ScriptedProvider extends EmbeddingProvider {
  /** Every request so far, with the time that it was made at. */
  readonly sent: { at: number; kind: "query" | "batch"; texts: readonly string[]; signal: AbortSignal | undefined }[];
  /** How the next requests go. Those after them are answered well. */
  steps: Step[];
  /** How every request goes after `steps`. */
  always: Step;
}

/** `says`: the reported tokens. */
type Script = Partial<EmbeddingProvider> & { steps?: Step[]; always?: Step; says?: number };

export function scriptedProvider(change: Script = {}): ScriptedProvider {
  const { steps = [], always = "ok", says, ...rest } = change;
  async function answer(kind: "query" | "batch", texts: readonly string[], options: EmbeddingCallOptions = {}) {
    provider.sent.push({ at: Date.now(), kind, texts, signal: options.signal });
    const step = provider.steps.shift() ?? provider.always;
    if (step instanceof Error) throw step;
    if (step === "hang") return await new Promise<never>(() => undefined);
    if (typeof step === "number") await new Promise((resolve) => setTimeout(resolve, step));
    if (says !== undefined) options.onUsage?.({ tokens: says });
    return typeof step === "function" ? step(texts) : texts.map((text) => [3, text.length, 0, 4]);
  }
  const provider: ScriptedProvider = {
    id: "scripted",
    model: "m1",
    sent: [],
    steps,
    always,
    embedBatch: (texts, options) => answer("batch", texts, options),
    async embedQuery(text, options) {
      const [vector] = await answer("query", [text], options);
      return vector as ArrayLike<number>;
    },
    ...rest,
  };
  return provider;
}

export const failures: Record<"transient" | "quota" | "auth" | "input" | "rate", ProviderError> = {
  transient: new ProviderError("transient", "scripted answered 500"),
  quota: new ProviderError("quota", "scripted answered 429 insufficient_quota: nothing left"),
  auth: new ProviderError("auth", "scripted answered 401: wrong key"),
  input: new ProviderError("input", "scripted answered 400: too long"),
  rate: new ProviderError("rate", "scripted answered 429"),
};

export function rateLimit(retryAfterMs: number): ProviderError {
  return new ProviderError("rate", "scripted answered 429: slow down", { retryAfterMs });
}

export interface Desk {
  provider: ScriptedProvider;
  requests: EmbeddingRequests;
  circuit: Circuit;
  usage: Usage;
  /** Embeds two texts in the background, and moves the clock until the call has ended. */
  embed(options?: Partial<EmbedOptions> & { texts?: readonly string[] }): Promise<Outcome<Float32Array[]>>;
  query(text?: string, options?: { signal?: AbortSignal; patienceMs?: number }): Promise<Outcome<Float32Array>>;
  /** Milliseconds between the requests. */
  pauses(): number[];
}

/** Requests to a provider, with their circuit and usage in this state folder. */
export function deskIn(
  given: ScriptedProvider | Script = {},
  { stateDir = tempFolder(), requestMs }: { stateDir?: string; requestMs?: number } = {},
): Desk {
  const provider = "sent" in given ? given : scriptedProvider(given);
  const shared = new SharedState(stateDir);
  const circuit = new Circuit(shared, "0123456789abcdef");
  const usage = new Usage(shared, "main");
  const requests = new EmbeddingRequests(provider, circuit, usage, requestMs);
  const how = { signal: never, reason: "watch", asked: false };
  return {
    provider,
    requests,
    circuit,
    usage,
    embed: ({ texts = ["first text", "second"], ...options } = {}) =>
      run(requests.embed(texts, { ...how, ...options })),
    query: (text = "q", options = {}) =>
      run(requests.embedQuery(text, { signal: never, reason: "search", ...options })),
    pauses: () => provider.sent.slice(1).map(({ at }, index) => at - (provider.sent[index]?.at ?? 0)),
  };
}

/** Stops the clock at a time of day, without jitter; `run` and `pass` move it. */
export function stopClock(at: string): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: new Date(at) });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
}

export function startClock(): void {
  vi.useRealTimers();
  vi.restoreAllMocks();
}

/** Lets some time go by, and everything happen that is due in it. */
export async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
}

export interface Outcome<T> {
  value: T | undefined;
  error: unknown;
  /** Milliseconds on the stopped clock, in steps of 50. */
  tookMs: number;
}

/** Moves the clock until a call has ended, for at most an hour. */
async function run<T>(call: Promise<T>): Promise<Outcome<T>> {
  const started = Date.now();
  const ended: Outcome<T>[] = [];
  const end = (value: T | undefined, error: unknown): void =>
    void ended.push({ value, error, tookMs: Date.now() - started });
  call.then(
    (value) => end(value, undefined),
    (error: unknown) => end(undefined, error),
  );
  await pass(0);
  while (ended.length === 0 && Date.now() < started + 3_600_000) await pass(50);
  const [outcome] = ended;
  if (!outcome) throw new Error("the call has not ended within an hour");
  return outcome;
}
