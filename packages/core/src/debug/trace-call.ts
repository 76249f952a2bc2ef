import { EmbeddingError } from "../contract/provider-error.ts";
import { MemoryError, isAbort } from "../contract/errors.ts";
import { channels } from "./channels.ts";
import type { CallMessage, CallMessages, ChannelName } from "./messages.ts";

/** Adds facts to a call message. Computed only if the channel has a listener. */
export type Tell<Name extends ChannelName> = (facts: () => Partial<CallMessages[Name]>) => void;

const codeLike = /^[A-Z][A-Z\d_]{1,47}$/u;
const tellNobody = (): void => undefined;

/** Whether the channel has a listener. */
export function hasListener(name: ChannelName): boolean {
  return channels[name].hasSubscribers;
}

/** Runs a call and publishes it once on its channel, if there is a listener. Listeners cannot change the call. */
export function traceCall<Name extends ChannelName, Result>(
  name: Name,
  asked: () => CallMessages[Name],
  run: (tell: Tell<Name>) => Promise<Result>,
  found?: (result: Result) => Partial<CallMessages[Name]>,
): Promise<Result> {
  return hasListener(name) ? runPublished(name, asked, run, found) : run(tellNobody);
}

function runPublished<Name extends ChannelName, Result>(
  name: Name,
  asked: () => CallMessages[Name],
  run: (tell: Tell<Name>) => Promise<Result>,
  found: ((result: Result) => Partial<CallMessages[Name]>) | undefined,
): Promise<Result> {
  const channel = channels[name];
  const startedAt = performance.now();
  const message = quietly(asked);
  if (message === undefined) return run(tellNobody);
  // A listener may have frozen the message.
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

function codeOf(error: unknown): string {
  if (MemoryError.is(error)) return error.code;
  if (EmbeddingError.is(error)) return error.kind;
  if (!(error instanceof Error)) return "UNKNOWN";
  if (error.name === "TimeoutError") return "TIMEOUT";
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" && codeLike.test(code) ? code : "UNKNOWN";
}

function quietly<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
