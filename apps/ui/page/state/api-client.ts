import { signal } from "@preact/signals";
import type { Failure, Facts } from "../../src/api-types.ts";
import { kept, keep } from "./preferences.ts";

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
  /** The entity tag of the answer that the page has. */
  tag?: string | undefined;
}

/** Requests JSON from the server. Throws `AskError`, and what an aborted `fetch` throws. */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
  return (await askNewer(path, options)).data as T;
}

/** As `ask`, for an answer that the page has already: without data if it still has this tag. */
export async function askNewer(path: string, options: AskOptions): Promise<{ data: unknown; tag: string | undefined }> {
  const { response, data } = await send(path, options)
    .then(async (response) => {
      const hasBody = response.status !== 204 && response.status !== 304;
      return { response, data: hasBody ? ((await response.json()) as unknown) : undefined };
    })
    .catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      throw new AskError(0, "OFFLINE", "");
    });
  if (data === undefined) return { data, tag: undefined };
  if (response.ok) return { data, tag: response.headers.get("etag") ?? undefined };
  const { code, message } = (data as Failure | undefined)?.error ?? { code: "INTERNAL", message: "" };
  throw new AskError(response.status, code, message, data);
}

/** Sends a request with the token of this browser. */
export async function send(path: string, { method, body, signal, tag }: AskOptions = {}): Promise<Response> {
  if (entering !== undefined) await entering;
  const headers = new Headers({ authorization: `Bearer ${kept("token") ?? ""}` });
  const init: RequestInit = {
    method: method ?? (body === undefined ? "GET" : "POST"),
    signal: signal ?? null,
    headers,
  };
  if (tag !== undefined) headers.set("if-none-match", tag);
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

/** `locked`: not signed in. `offline`: disconnected. */
export const session = signal<"open" | "locked" | "offline">("open");
export const facts = signal<Facts | undefined>(undefined);

/** While the secret is exchanged: other requests wait for the token. */
let entering: Promise<void> | undefined;

/** Exchanges the secret in the address for a token, removes it from the address, and loads the facts. */
export async function startSession(): Promise<void> {
  const secret = new URLSearchParams(location.hash.slice(1)).get("secret");
  if (secret !== null) {
    history.replaceState(history.state, "", location.pathname + location.search);
    const login = ask<{ token: string }>("/api/login", { body: { secret } });
    entering = login
      .then(({ token }) => void keep("token", token))
      // A used secret: the token of an earlier login may be valid.
      .catch((error: unknown) => void (kept("token") ?? told(error)))
      .finally(() => (entering = undefined));
  }
  await lookAgain();
}

/** Checks whether the server answers and accepts this page. */
export async function lookAgain(): Promise<void> {
  try {
    facts.value = await ask<Facts>("/api/facts");
    session.value = "open";
  } catch (error) {
    told(error);
  }
}

/** Updates the session from the failure of a request. */
export function told(error: unknown): void {
  if (!(error instanceof AskError)) return;
  if (error.status === 401) session.value = "locked";
  else if (error.status === 0) session.value = "offline";
}
