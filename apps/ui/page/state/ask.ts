import type { Failure } from "../../src/api/facts.ts";
import { kept } from "./kept.ts";

/** An error response of the server; `status` 0: no response. */
export class AskError extends Error {
  readonly status: number;
  readonly code: string;
  /** The whole body: some failures have more fields. */
  readonly body: unknown;

  constructor(status: number, code: string, message: string, body?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

export interface AskOptions {
  method?: "GET" | "POST" | "PUT" | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** Requests JSON from the server. Throws `AskError`, and what an aborted `fetch` throws. */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
  const response = await send(path, options).catch((error: unknown) => {
    if (options.signal?.aborted) throw error;
    throw new AskError(0, "OFFLINE", String(error));
  });
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as T;
  const { code, message } = (answer as Failure | undefined)?.error ?? { code: "HTTP", message: response.statusText };
  throw new AskError(response.status, code, message, answer);
}

/** Sends a request with the token of this browser. */
export async function send(path: string, { method, body, signal }: AskOptions = {}): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${kept("token") ?? ""}` });
  const init: RequestInit = {
    method: method ?? (body === undefined ? "GET" : "POST"),
    signal: signal ?? null,
    headers,
  };
  if (init.method !== "GET") {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(body ?? {});
  }
  return await fetch(path, init);
}

/** A path with a query, without undefined, empty or false values. */
export function pathWith(path: string, query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "" && value !== false) search.set(name, value === true ? "1" : String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}
