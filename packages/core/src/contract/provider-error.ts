import { isAbort, messageOf, SentenceError } from "./errors.ts";
import { type Sentence, sentence } from "./sentences.ts";

/**
 * Why a request to an embedding provider or a reranker failed. It decides the next step of the host.
 *
 * | kind        | cause | the host |
 * | ----------- | ----- | -------- |
 * | `transient` | network, deadline, server fault | retries later; splits the batch if a test text passes |
 * | `rate`      | too many requests | retries after `retryAfterMs`; all processes wait |
 * | `quota`     | the account has no quota left | sends nothing until the next probe and uses `fallback` |
 * | `auth`      | wrong key, permission, model name or URL, for every text | does the same |
 * | `input`     | a text or the request is too long or unreadable | splits the batch down to the text and quarantines it |
 */
export type EmbeddingFailure = "transient" | "rate" | "quota" | "auth" | "input";

const kinds: readonly string[] = ["transient", "rate", "quota", "auth", "input"] satisfies EmbeddingFailure[];
const marker = Symbol.for("memslot.EmbeddingError");

/** The error of embedding providers and rerankers; `ProviderError.is` works across two copies of this package. */
export class ProviderError extends SentenceError {
  readonly kind: EmbeddingFailure;
  /** Milliseconds to wait before the next request, if the server states them. */
  readonly retryAfterMs: number | undefined;
  /** True if the server did the work: the tokens count as used although the answer is unusable. */
  readonly hasCost: boolean;

  constructor(
    kind: EmbeddingFailure,
    message: string | Sentence,
    options: { cause?: unknown; retryAfterMs?: number | undefined; hasCost?: boolean | undefined } = {},
  ) {
    const said = typeof message === "string" ? sentence(`provider.${kind}`, { error: message }) : message;
    super(said, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "ProviderError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.hasCost = options.hasCost === true;
    Object.defineProperty(this, marker, { value: true });
  }

  static is(value: unknown, kind?: EmbeddingFailure): value is ProviderError {
    if (typeof value !== "object" || value === null || !(marker in value) || !("kind" in value)) return false;
    return typeof value.kind === "string" && kinds.includes(value.kind) && (kind === undefined || value.kind === kind);
  }
}

/** Former name of `ProviderError`. */
export const EmbeddingError: typeof ProviderError = ProviderError;
export type EmbeddingError = ProviderError;

/** An HTTP answer that reports a failure. */
export interface HttpFailure {
  /** Name of the provider in the message. */
  provider: string;
  /** HTTP status. */
  status: number;
  /** The server's message; markup is removed and the text is cut to 300 characters. */
  message: string;
  /** The server's error code: `insufficient_quota`, `RESOURCE_EXHAUSTED`. */
  code?: string | undefined;
  headers?: { get(name: string): string | null } | undefined;
  cause?: unknown;
}

// An account without quota answers 402, 403 or 429; waiting a minute does not help.
const quotaWords =
  /insufficient[_ ]quota|exceeded your current quota|credit[_ ]balance|insufficient[_ ](?:credits?|balance|funds)|billing|payment required|free_tier|per ?day|daily limit/i;

/** Creates the error for an HTTP answer; status and message decide the kind. */
export function httpEmbeddingError(failure: HttpFailure): ProviderError {
  const { provider, status, headers } = failure;
  const said = plainWords(failure.message);
  const code = failure.code === undefined || said.includes(failure.code) ? "" : ` ${failure.code}`;
  const text = `${provider} answered ${status}${code}${said === "" ? "" : `: ${said}`}`;
  return new ProviderError(kindOf(failure), text, { cause: failure.cause, retryAfterMs: retryAfter(headers) });
}

function kindOf({ status, message, code = "" }: HttpFailure): EmbeddingFailure {
  const isQuota = quotaWords.test(code) || quotaWords.test(message);
  if (status === 402) return "quota";
  if (status === 429) return isQuota ? "quota" : "rate";
  if (status === 403 && isQuota) return "quota";
  if (status === 401 || status === 403 || status === 404 || status === 405) return "auth";
  if (status === 400 && /api[_ ]?key/i.test(`${code} ${message}`)) return "auth";
  if (status === 408 || status === 409 || status === 425 || status >= 500 || status < 400) return "transient";
  return "input";
}

/** `Retry-After-Ms`, or `Retry-After` in seconds or as a date. */
function retryAfter(headers: HttpFailure["headers"]): number | undefined {
  const milliseconds = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;
  const written = headers?.get("retry-after")?.trim();
  if (written === undefined || written === "") return undefined;
  const seconds = Number(written);
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(written) - Date.now();
  return Number.isFinite(until) ? Math.max(0, until) : undefined;
}

/** Converts any error of a provider to a `ProviderError`. The caller rethrows the error of an abort before. */
export function embeddingErrorOf(error: unknown, provider: string): ProviderError {
  if (ProviderError.is(error)) return error;
  const status = statusOf(error);
  const message = messageOf(error);
  if (status !== undefined) return httpEmbeddingError({ provider, status, message, cause: error });
  const words = isAbort(error) ? "ended the request" : message;
  return new ProviderError("transient", `${provider}: ${words}`, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("status" in error)) return undefined;
  return typeof error.status === "number" && error.status >= 300 && error.status < 600 ? error.status : undefined;
}

/** One line without markup, at most 300 characters: a proxy may answer with a whole page. */
function plainWords(message: string): string {
  const text = message
    .replaceAll(/<(style|script)[\s\S]*?<\/\1>/gi, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
