import { isAbort, messageOf } from "./errors.ts";

/**
 * Why an embedding request failed, which decides what happens next.
 *
 * | kind        | means                                                                                | then                                                        |
 * | ----------- | ------------------------------------------------------------------------------------ | ----------------------------------------------------------- |
 * | `transient` | the network, a time limit, or a fault of the server                                  | tried again after a short pause                             |
 * |             |                                                                                      | and split like `input` if a plain word passes meanwhile     |
 * | `rate`      | too many requests                                                                    | tried again when `retryAfterMs` is over, by no process before |
 * | `quota`     | the account has nothing left                                                         | no request until the next probe, `fallback` is used         |
 * | `auth`      | refused whatever is sent: key, permission, model name or address are wrong           | the same                                                    |
 * | `input`     | this request is refused: a text or the whole is too long, or cannot be read          | the batch is split down to the text, which is set aside     |
 */
export type EmbeddingFailure = "transient" | "rate" | "quota" | "auth" | "input";

const kinds: readonly string[] = ["transient", "rate", "quota", "auth", "input"] satisfies EmbeddingFailure[];
const marker = Symbol.for("memslot.EmbeddingError");

/** What an embedding provider throws. Recognise it with `EmbeddingError.is`, which also works across two copies of this package. */
export class EmbeddingError extends Error {
  readonly kind: EmbeddingFailure;
  /** Milliseconds that the other side wants to be left alone, where it said so. */
  readonly retryAfterMs: number | undefined;
  /** The other side has done the work, so that what was sent counts as spent although its answer is of no use. */
  readonly hasCost: boolean;

  constructor(
    kind: EmbeddingFailure,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | undefined; hasCost?: boolean | undefined } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "EmbeddingError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.hasCost = options.hasCost === true;
    Object.defineProperty(this, marker, { value: true });
  }

  static is(value: unknown, kind?: EmbeddingFailure): value is EmbeddingError {
    if (typeof value !== "object" || value === null || !(marker in value) || !("kind" in value)) return false;
    return typeof value.kind === "string" && kinds.includes(value.kind) && (kind === undefined || value.kind === kind);
  }
}

/** What an HTTP answer says of a failure. */
export interface HttpFailure {
  /** The name of the provider, for the message. */
  provider: string;
  status: number;
  /** The answer's own words; markup and more than a line are cut away. */
  message: string;
  /** The answer's own code or status word: `insufficient_quota`, `RESOURCE_EXHAUSTED`. */
  code?: string | undefined;
  headers?: { get(name: string): string | null } | undefined;
  cause?: unknown;
}

// Words for an empty account. They come as 429 as well as 402 and 403, and waiting a minute does not help.
const quotaWords =
  /insufficient[_ ]quota|exceeded your current quota|credit[_ ]balance|insufficient[_ ](?:credits?|balance|funds)|billing|payment required|free_tier|per ?day|daily limit/i;

/** The kind of failure that an HTTP answer stands for, as an error to throw. */
export function httpEmbeddingError(failure: HttpFailure): EmbeddingError {
  const { provider, status, headers } = failure;
  const said = plainWords(failure.message);
  const code = failure.code === undefined || said.includes(failure.code) ? "" : ` ${failure.code}`;
  const text = `${provider} answered ${status}${code}${said === "" ? "" : `: ${said}`}`;
  return new EmbeddingError(kindOf(failure), text, { cause: failure.cause, retryAfterMs: retryAfter(headers) });
}

function kindOf({ status, message, code = "" }: HttpFailure): EmbeddingFailure {
  const isQuota = quotaWords.test(code) || quotaWords.test(message);
  if (status === 402) return "quota";
  if (status === 429) return isQuota ? "quota" : "rate";
  if (status === 403 && isQuota) return "quota";
  if (status === 401 || status === 403 || status === 404 || status === 405) return "auth";
  // Google answers a wrong key with 400.
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

/** Anything that a provider threw, as an `EmbeddingError`. The error of an abort stays what it is: throw that on before. */
export function embeddingErrorOf(error: unknown, provider: string): EmbeddingError {
  if (EmbeddingError.is(error)) return error;
  const status = statusOf(error);
  const message = messageOf(error);
  if (status !== undefined) return httpEmbeddingError({ provider, status, message, cause: error });
  const words = isAbort(error) ? "ended the request" : message;
  return new EmbeddingError("transient", `${provider}: ${words}`, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("status" in error)) return undefined;
  return typeof error.status === "number" && error.status >= 300 && error.status < 600 ? error.status : undefined;
}

/** One line without markup, at most 300 characters: a proxy may have answered with a whole page. */
function plainWords(message: string): string {
  const text = message
    .replaceAll(/<(style|script)[\s\S]*?<\/\1>/gi, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
