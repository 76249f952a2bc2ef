import { MemoryError, type MemoryErrorCode, messageOf } from "@memslot/core";

/** Where a language model answers over the network. */
export interface Endpoint {
  readonly model: string;
  readonly apiKey: string | undefined;
  /** Undefined for the provider's own. */
  readonly baseUrl: string | undefined;
  readonly where: string;
  readonly keyName: string;
  readonly urlName: string;
}

/** A failure of an endpoint and the next step, on one line without the key. */
export class EndpointFailure extends Error {
  readonly code: MemoryErrorCode;
  readonly status: number | undefined;
  /** Wait before a retry; undefined if a retry is pointless. */
  readonly waitMs: number | undefined;

  constructor(
    code: MemoryErrorCode,
    message: string,
    facts: { status?: number | undefined; waitMs?: number | undefined } = {},
  ) {
    super(message);
    this.code = code;
    this.status = facts.status;
    this.waitMs = facts.waitMs;
  }
}

/** The failure inside a thrown error, which an SDK may have wrapped. */
export function failureOf(thrown: unknown, endpoint: Endpoint): EndpointFailure {
  const chain = causesOf(thrown);
  const known = chain.find((error) => error instanceof EndpointFailure);
  if (known !== undefined) return known;
  if (MemoryError.is(thrown)) return new EndpointFailure(thrown.code, thrown.message);
  // SDK errors in the middle of a stream. Some servers write a status in place of a code.
  const { status, code, error } = (chain[0] ?? {}) as { status?: unknown; code?: unknown; error?: unknown };
  const number = [status, code].find((value) => typeof value === "number");
  const text = typeof error === "object" && error !== null ? JSON.stringify({ error }) : messageOf(thrown);
  return answerFailure(endpoint, { status: number, text });
}

/** The failure of an error response, by words that all servers use. */
export function answerFailure(
  endpoint: Endpoint,
  answer: { status: number | undefined; text: string; headers?: Headers | undefined },
): EndpointFailure {
  const { where, model, keyName, urlName } = endpoint;
  const { status, text } = answer;
  const at = status === undefined ? "" : ` (${status})`;
  const words = wordsOf(text, endpoint);
  const failure = (code: MemoryErrorCode, message: string, waitMs?: number): EndpointFailure =>
    new EndpointFailure(code, message, { status, waitMs });
  if (status === 401 || status === 403 || text.includes("API_KEY_INVALID"))
    return failure("CONFIG", `${where} refused the key${at}: check ${keyName}`);
  if (status === 404) return failure("CONFIG", `${where} knows no model "${model}"${at}: check --model and ${urlName}`);
  if (status !== undefined && status >= 300 && status < 400)
    return failure("CONFIG", `${where} sends on to another address${at}: write that one into ${urlName}`);
  if (/context.?(?:length|size|window)|too many tokens|number of tokens|prompt is too long/i.test(text))
    return failure("INVALID_ARGUMENT", `the conversation is too long for ${model}${at}, shorten it: ${words}`);
  if (text.includes("insufficient_quota"))
    return failure("UNAVAILABLE", `${where} takes no more requests${at}, check your plan there: ${words}`);
  const waitMs = waitOf(answer.headers);
  if (status === 429)
    return failure("UNAVAILABLE", `${where} takes no more requests for now${at}, ask again later: ${words}`, waitMs);
  if (status === undefined || status === 408 || status >= 500)
    return failure("UNAVAILABLE", `${where} gave no whole answer${at}, ask again later: ${words}`, waitMs);
  return failure("UNAVAILABLE", `${where} answered with an error${at}, check --model and ${urlName}: ${words}`);
}

/** A request without a response. A refused connection is not retried. */
export function unreachable(endpoint: Endpoint, error: unknown): EndpointFailure {
  const last = causesOf(error).at(-1);
  const code = last !== undefined && "code" in last ? String(last.code) : "";
  const words = wordsOf(messageOf(last ?? error) || code, endpoint);
  const text = `cannot reach ${endpoint.where}: check ${endpoint.urlName} and the network (${words})`;
  return new EndpointFailure("UNAVAILABLE", text, {
    waitMs: code === "ECONNREFUSED" || code === "ENOTFOUND" ? undefined : 0,
  });
}

/** The message of a response, on one line and without the key, which some endpoints repeat. */
function wordsOf(text: string, { apiKey }: Endpoint): string {
  let words = text;
  try {
    const body = JSON.parse(text.slice(Math.max(0, text.indexOf("{")))) as Record<string, unknown>;
    const inner = (body["error"] ?? body) as { message?: unknown };
    const message = inner.message ?? body["message"] ?? body["error"];
    if (typeof message === "string") words = message;
  } catch {
    if (/^\s*</.test(text)) words = "a page of HTML";
  }
  if (apiKey !== undefined) words = words.replaceAll(apiKey, "[key]");
  words = messageOf(words) || "it says nothing more";
  return words.length > 300 ? `${words.slice(0, 300)}…` : words;
}

/** `Retry-After` is in seconds, or a date. */
function waitOf(headers: Headers | undefined): number {
  const written = headers?.get("retry-after")?.trim();
  if (!written) return 0;
  const ms = /^\d+(?:\.\d+)?$/.test(written) ? Number(written) * 1000 : Date.parse(written) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

function causesOf(error: unknown): Error[] {
  const errors: Error[] = [];
  for (let at = error; at instanceof Error && errors.length < 8; at = at.cause) errors.push(at);
  return errors;
}
