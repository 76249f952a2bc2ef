import { OpenAI } from "openai/client";
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai/error";
import { EmbeddingError } from "@memslot/core";
import { connectionFailure } from "./connection-failures.ts";
import type { Endpoint } from "./endpoint.ts";
import { httpFailure } from "./http-failures.ts";

/** A client of the SDK for one endpoint. This module loads the SDK: it is imported at the first call. */
export interface Connection {
  client: OpenAI;
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
  const client = new OpenAI({
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
    fetch: createFetch(endpoint),
  });
  return {
    client,
    failure(error, { path, signal }) {
      if (signal?.aborted === true) return signal.reason;
      if (EmbeddingError.is(error)) return error;
      if (error instanceof APIConnectionError)
        return connectionFailure(error, endpoint, error instanceof APIConnectionTimeoutError);
      if (error instanceof APIError && typeof error.status === "number") {
        const { status, headers } = error;
        const text = error.message.replace(/^\d{3} (?:status code \(no body\)$)?/, "");
        return httpFailure({ status, body: error.error ?? text, headers }, { endpoint, model, path });
      }
      if (error instanceof SyntaxError) {
        const text = `${endpoint.base.host} answered ${path} with a text that ends too early or is no JSON`;
        return new EmbeddingError("transient", text);
      }
      return connectionFailure(error, endpoint, false);
    },
  };
}

/**
 * Sends requests to the endpoint's own origin only, follows no redirect, and sends no headers but those that the
 * endpoint has and the two that belong to the body.
 */
function createFetch({ base, headers: configured }: Endpoint): typeof fetch {
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
    return fetch(url, { ...init, headers, redirect: "manual" });
  };
}
