import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, withDeadline } from "@memslot/core";
import { request as send } from "@memslot/core/providers";
import type { ModelReply, ModelRequest } from "./chat-model.ts";
import { type Endpoint, answerFailure, failureOf, unreachable } from "./endpoint-failure.ts";
import { createEventReader } from "./event-stream.ts";

/** How patient a client is. */
export interface Patience {
  readonly silenceMs?: number | undefined;
  readonly retryDelayMs?: number | undefined;
}

export interface Attempt {
  /** Returns a response with an event stream, or fails. Watches the time, and follows no redirect with the key. */
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
  /** Whether the stream was completed. */
  readonly isComplete: () => boolean;
}

const maxRetries = 2;
/** A longer requested wait is not awaited. */
const longestWaitMs = 10_000;

/** Requests an answer; retries if useful and nothing was shown yet. Throws as `ChatModel.complete` does. */
export async function endpointReply(
  endpoint: Endpoint,
  { silenceMs = 60_000, retryDelayMs = 500 }: Patience,
  request: ModelRequest,
  ask: (attempt: Attempt) => Promise<ModelReply>,
): Promise<ModelReply> {
  let shown = false;
  const limits = {
    what: endpoint.where,
    deadlineMs: silenceMs,
    signals: [request.signal],
    action: `ask again, or check ${endpoint.urlName}`,
  };
  for (let retries = 0; ; retries += 1) {
    try {
      return await withDeadline(limits, (signal, extend) => {
        const reader = createEventReader(extend);
        const onText = (delta: string): void => {
          if (delta === "" || signal.aborted || request.onText === undefined) return;
          shown = true;
          request.onText(delta);
        };
        const fetch = eventFetch(endpoint, signal, reader.read);
        return ask({ fetch, signal, onText, isComplete: reader.isComplete });
      });
    } catch (thrown) {
      request.signal.throwIfAborted();
      const failure = failureOf(thrown, endpoint);
      const waitMs = Math.max(failure.waitMs ?? Infinity, retryDelayMs * 2 ** retries);
      if (shown || retries >= maxRetries || waitMs > longestWaitMs) {
        // Without a cause: SDK errors may contain the key.
        throw new MemoryError(failure.code, failure.message);
      }
      await sleep(waitMs, undefined, { signal: request.signal });
    }
  }
}

function eventFetch(endpoint: Endpoint, signal: AbortSignal, read: (response: Response) => Response): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input;
    const response = await send(url, { ...init, signal }).catch((error: unknown) => {
      throw unreachable(endpoint, error);
    });
    if (response.ok) return read(response);
    const text = await response.text().catch(() => "");
    throw answerFailure(endpoint, { status: response.status, text, headers: response.headers });
  };
}
