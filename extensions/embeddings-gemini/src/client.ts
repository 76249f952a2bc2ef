import type { GoogleGenAI } from "@google/genai/web";
import { limitAnswer, request, smallAnswerBytes } from "@memslot/core/providers";
import type { Endpoint } from "./endpoint.ts";
import { answerFailure, redirectFailure, unexpectedFailure } from "./failure.ts";

/**
 * Talks to one endpoint, and reads at most `limitBytes` of an answer, or as many as one without vectors may have. What fails is thrown as an `EmbeddingError`; of an aborted call, the reason of its signal.
 */
export interface GeminiClient {
  /** Calls with Google's SDK, which is loaded at the first time. */
  withSdk<Result>(
    options: { signal: AbortSignal | undefined; limitBytes?: number | undefined },
    work: (sdk: GoogleGenAI) => Promise<Result>,
  ): Promise<Result>;
  /** Asks without it; `path` goes behind the version. `read` takes what is needed from the answer. */
  request<Result>(
    method: "GET" | "POST" | "DELETE",
    path: string,
    options: {
      signal: AbortSignal | undefined;
      body?: unknown;
      limitBytes?: number | undefined;
      read: (response: Response) => Promise<Result>;
    },
  ): Promise<Result>;
}

export function createClient(endpoint: Endpoint): GeminiClient {
  const { address, version } = endpoint.base;

  async function settled<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw unexpectedFailure(error, endpoint);
    }
  }

  return {
    withSdk: ({ signal, limitBytes }, work) =>
      settled(signal, async () => {
        // This entry weighs a third of the one for Node, and reads no environment.
        const { GoogleGenAI: Sdk } = await import("@google/genai/web");
        return await work(
          new Sdk({
            // Replaced or taken away by `guardedFetch`, as `endpoint.headers` says.
            apiKey: "set-below",
            vertexai: false,
            apiVersion: version,
            // Without `retryOptions` nothing is retried: the host does that.
            httpOptions: { baseUrl: address, fetch: guardedFetch(endpoint, signal, limitBytes) },
          }),
        );
      }),
    request: (method, path, { signal, body, limitBytes, read }) =>
      settled(signal, async () => {
        const init: RequestInit =
          body === undefined
            ? { method }
            : { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
        return await read(await guardedFetch(endpoint, signal, limitBytes)(`${address}/${version}/${path}`, init));
      }),
  };
}

/**
 * A `fetch` for one call. It sends the key and the headers of the configuration, follows no redirect, and gives only
 * answers that are a success, of which it reads no more than the limit. The signal comes this way, as the SDK keeps hold of one that it was given when the call is
 * long over, and forgets its reason.
 */
function guardedFetch(
  endpoint: Endpoint,
  signal: AbortSignal | undefined,
  limitBytes = smallAnswerBytes,
): typeof fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(endpoint.headers)) {
      if (value === "") headers.delete(name);
      else headers.set(name, value);
    }
    const url = input instanceof Request ? input.url : input;
    const response = await request(url, { ...init, headers, ...(signal && { signal }) });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw redirectFailure(response, endpoint);
    }
    const isPage = (response.headers.get("content-type") ?? "").includes("text/html");
    const who = `gemini: ${endpoint.base.host}`;
    if (response.ok && !isPage) return await limitAnswer(response, { who, limitBytes });
    const refusal = await limitAnswer(response, { who, limitBytes: smallAnswerBytes });
    throw answerFailure(response, await refusal.text(), endpoint);
  };
}
