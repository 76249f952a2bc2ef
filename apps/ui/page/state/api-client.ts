import { useEffect, useState } from "preact/hooks";
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

export interface Answer<T> {
  /** The last answer, which stays during a reload. */
  data: T | undefined;
  error: AskError | undefined;
  loading: boolean;
}

/** The answer at `path`, reloaded when `path` or `revision` changes; `undefined`: no request. */
export function useAnswer<T>(path: string | undefined, revision: unknown = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, error: undefined, loading: path !== undefined });
  useEffect(() => {
    if (path === undefined) {
      setAnswer({ data: undefined, error: undefined, loading: false });
      return undefined;
    }
    const controller = new AbortController();
    setAnswer((before) => ({ ...before, loading: true }));
    ask<T>(path, { signal: controller.signal }).then(
      (data) => setAnswer({ data, error: undefined, loading: false }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        told(error);
        const known = error instanceof AskError ? error : new AskError(0, "INTERNAL", String(error));
        setAnswer((before) => ({ ...before, error: known, loading: false }));
      },
    );
    return () => controller.abort();
  }, [path, revision]);
  return answer;
}

/** `locked`: not signed in. `offline`: disconnected. */
export const session = signal<"starting" | "open" | "locked" | "offline">("starting");
export const facts = signal<Facts | undefined>(undefined);

/** Exchanges the secret in the address for a token, removes it from the address, and loads the facts. */
export async function startSession(): Promise<void> {
  const secret = new URLSearchParams(location.hash.slice(1)).get("secret");
  if (secret !== null) {
    history.replaceState(history.state, "", location.pathname + location.search);
    const login = ask<{ token: string }>("/api/login", { body: { secret } });
    await login.then(({ token }) => keep("token", token)).catch(told);
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
