import { OpenAI } from "openai/client";
import { APIConnectionError, APIError } from "openai/error";
import { EmbeddingError } from "@memslot/core";
import { limitAnswer, networkFailure, request, smallAnswerBytes } from "@memslot/core/providers";
import type { Endpoint } from "./endpoint.ts";
import { httpFailure, nameOf, withoutSecrets } from "./http-failures.ts";

/** Clients of the SDK for one endpoint. This module loads the SDK: it is imported at the first call. */
export interface Connection {
  /** A client that reads at most so many bytes of an answer; as many as one without vectors may have if left out. */
  client(limitBytes?: number): OpenAI;
  /**
   * What a call has thrown, as what is to be thrown on: the signal's reason after an abort, else an `EmbeddingError`.
   * `path` is what was asked for, below the base URL.
   */
  failure(error: unknown, options: { path: string; signal?: AbortSignal | undefined }): unknown;
}

/** The host sets the time limits of calls; this one only ends what was forgotten. */
const timeoutMs = 15 * 60_000;

/**
 * Opens a client that takes nothing from the environment: without these options the SDK would read address, keys,
 * headers and the log level there by itself.
 */
export function connect(endpoint: Endpoint, model: string): Connection {
  return {
    client: (limitBytes = smallAnswerBytes) =>
      new OpenAI({
        baseURL: endpoint.base.href,
        // Key and headers are put in by `fetch` below, so that the SDK never has them.
        apiKey: "none",
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        logLevel: "off",
        maxRetries: 0,
        timeout: timeoutMs,
        fetch: createFetch(endpoint, limitBytes),
      }),
    failure(error, { path, signal }) {
      if (signal?.aborted === true) return signal.reason;
      const own = error instanceof APIConnectionError ? error.cause : error;
      if (EmbeddingError.is(own)) return own;
      if (error instanceof APIError && typeof error.status === "number") {
        const { status, headers } = error;
        const text = error.message.replace(/^\d{3} (?:status code \(no body\)$)?/, "");
        return httpFailure({ status, body: error.error ?? text, headers }, { endpoint, model, path });
      }
      if (error instanceof SyntaxError) {
        const text = `${endpoint.base.host} answered ${path} with a text that ends too early or is no JSON`;
        return new EmbeddingError("transient", text, { hasCost: true });
      }
      // Beside the SDK's own errors: in the middle of an answer.
      const hasCost = !(error instanceof APIConnectionError);
      const hide = (text: string): string => withoutSecrets(text, endpoint);
      return networkFailure(error, { url: endpoint.base.href, hide, hasCost });
    },
  };
}

/**
 * Sends requests to the endpoint's own origin only, follows no redirect, and sends no headers but those that the
 * endpoint has and the two that belong to the body. Reads at most so many bytes of an answer.
 */
function createFetch(endpoint: Endpoint, limitBytes: number): typeof fetch {
  const { base, headers: configured } = endpoint;
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    // The SDK asks for an empty `data:` address to see what forms look like here.
    if (url.protocol === "data:") return fetch(url);
    if (url.origin !== base.origin)
      throw new TypeError(`a request to ${url.origin} was not sent: the base URL is at ${base.origin}`);
    const made = new Headers(init?.headers);
    const headers = new Headers(configured);
    for (const name of ["accept", "content-type"]) {
      const value = made.get(name);
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    const response = await request(url, { ...init, headers });
    return await limitAnswer(response, { who: nameOf(endpoint), limitBytes });
  };
}
