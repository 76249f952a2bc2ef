import { signal } from "@preact/signals";
import type { Sentence } from "@memslot/core";
import type { Failure, Facts } from "../../src/api-types.ts";
import { kept, keep } from "./preferences.ts";

/** An error response of the server; `status` 0: no response. */
export class AskError extends Error {
  readonly status: number;
  readonly code: string;
  /** What happened and the next step. */
  readonly sentence: Partial<Sentence>;

  constructor(status: number, code: string, sentence: Partial<Sentence> = {}) {
    super(sentence.reason);
    this.sentence = sentence;
    this.status = status;
    this.code = code;
  }
}

export interface AskOptions {
  /** Of a request with a body. */
  method?: "POST" | "PUT";
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** The entity tag of the answer that the page has. */
  tag?: string | undefined;
}

/** Requests JSON from the server. Throws `AskError`, of which the session learns, and what an aborted `fetch` throws. */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
  return (await askNewer(path, options)).data as T;
}

/** As `ask`, for an answer that the page has already: without data if it still has this tag. */
export async function askNewer(path: string, options: AskOptions): Promise<{ data: unknown; tag: string | undefined }> {
  try {
    const response = await send(path, options);
    const hasBody = response.status !== 204 && response.status !== 304;
    const data: unknown = hasBody ? await response.json() : undefined;
    if (response.ok || !hasBody) return { data, tag: response.headers.get("etag") ?? undefined };
    const { code, message, meaning } = (data as Failure).error;
    throw new AskError(response.status, code, { reason: message, ...meaning });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const failure = error instanceof AskError ? error : new AskError(0, "OFFLINE");
    if (failure.status === 401) session.value = "locked";
    else if (failure.status === 0) session.value = "offline";
    throw failure;
  }
}

/** Sends a request with the token of this browser. */
export async function send(path: string, { method = "POST", body, signal, tag }: AskOptions = {}): Promise<Response> {
  if (entering !== undefined) await entering;
  const headers = new Headers({
    authorization: `Bearer ${kept("token") ?? ""}`,
    ...(tag !== undefined && { "if-none-match": tag }),
    ...(body !== undefined && { "content-type": "application/json" }),
  });
  const sent = body === undefined ? { method: "GET" } : { method, body: JSON.stringify(body) };
  return await fetch(path, { ...sent, headers, signal: signal ?? null });
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
    entering = signIn(secret).finally(() => (entering = undefined));
  }
  await lookAgain();
}

/** Keeps the token. Of a used secret: the token of an earlier login may be valid. */
async function signIn(secret: string): Promise<void> {
  const response = await send("/api/login", { body: { secret } }).catch(() => undefined);
  if (response?.ok) keep("token", ((await response.json()) as { token: string }).token);
}

/** Checks whether the server answers and accepts this page. */
export async function lookAgain(): Promise<void> {
  try {
    facts.value = await ask<Facts>("/api/facts");
    session.value = "open";
  } catch {
    // The session has the reason.
  }
}
