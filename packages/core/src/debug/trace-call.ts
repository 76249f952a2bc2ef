import { EmbeddingError } from "../contract/provider-error.ts";
import { MemoryError, isAbort } from "../contract/errors.ts";
import { channels } from "./channels.ts";
import type { CallMessage, CallMessages, ChannelName } from "./messages.ts";

/** Adds to the message of a call. What is told is only worked out when somebody listens. */
export type Tell<Name extends ChannelName> = (facts: () => Partial<CallMessages[Name]>) => void;

const codeLike = /^[A-Z][A-Z\d_]{1,47}$/u;
const tellNobody = (): void => undefined;

/** Whether anybody listens to this channel now. */
export function isListenedTo(name: ChannelName): boolean {
  return channels[name].hasSubscribers;
}

/**
 * Makes a call and tells whoever listens to its channel of it, once, whatever comes of it. While nobody listens it only
 * runs the call: no message is built.
 *
 * Listeners cannot change a call: what they do to the message stays there, and what they throw Node throws again outside of
 * it, as an uncaught exception of the process. A message must therefore hold copies, never what the call works with.
 */
export function traceCall<Name extends ChannelName, Result>(
  name: Name,
  asked: () => CallMessages[Name],
  run: (tell: Tell<Name>) => Promise<Result>,
  found?: (result: Result) => Partial<CallMessages[Name]>,
): Promise<Result> {
  return isListenedTo(name) ? runTold(name, asked, run, found) : run(tellNobody);
}

/** In the order in which `tracePromise` of Node publishes, which would publish the result and the error themselves as well. */
function runTold<Name extends ChannelName, Result>(
  name: Name,
  asked: () => CallMessages[Name],
  run: (tell: Tell<Name>) => Promise<Result>,
  found: ((result: Result) => Partial<CallMessages[Name]>) | undefined,
): Promise<Result> {
  const channel = channels[name];
  const startedAt = performance.now();
  // Never undefined in use: a message that cannot be made is one that nobody gets.
  const message = quietly(asked);
  if (message === undefined) return run(tellNobody);
  // A listener may have frozen it.
  const tell: Tell<Name> = (facts) => void quietly(() => Object.assign(message, facts()));
  const end = (facts: () => CallMessage): void => {
    tell(facts as () => Partial<CallMessages[Name]>);
    tell(() => ({ tookMs: performance.now() - startedAt }) as Partial<CallMessages[Name]>);
    if (message.outcome !== "ok") channel.error.publish(message);
    channel.asyncStart.publish(message);
    channel.asyncEnd.publish(message);
  };
  const work = async (): Promise<Result> => run(tell);
  return channel.start.runStores(message, () => {
    const settled = work().then(
      (result) => {
        if (found) tell(() => found(result));
        end(() => ({ outcome: "ok" }));
        return result;
      },
      (error: unknown) => {
        end(() => (isAbort(error) ? { outcome: "aborted" } : { outcome: "failed", errorCode: codeOf(error) }));
        throw error;
      },
    );
    channel.end.publish(message);
    return settled;
  });
}

/** A word for an error that holds nothing of what was asked, as its message may. */
function codeOf(error: unknown): string {
  if (MemoryError.is(error)) return error.code;
  if (EmbeddingError.is(error)) return error.kind;
  if (!(error instanceof Error)) return "UNKNOWN";
  if (error.name === "TimeoutError") return "TIMEOUT";
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" && codeLike.test(code) ? code : "UNKNOWN";
}

/** What is only there to be seen must not make a call fail. */
function quietly<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
