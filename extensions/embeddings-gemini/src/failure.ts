import { EmbeddingError, type EmbeddingFailure, httpEmbeddingError, messageOf } from "@memslot/core";
import { networkFailure } from "@memslot/core/providers";
import type { Endpoint } from "./endpoint.ts";

const provider = "gemini";

/** Beside an error that stands for an answer, as its cause. */
interface AnswerCause {
  status: number;
}

/** The HTTP status that an error stands for; undefined where there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return EmbeddingError.is(error) ? (error.cause as Partial<AnswerCause> | undefined)?.status : undefined;
}

/** True where Google does not know a file or job (any more). Of those of another account it says the same. */
export function isGone(error: unknown): boolean {
  if (statusOf(error) === 404) return true;
  return statusOf(error) === 403 && /may not exist/.test(messageOf(error));
}

/** An answer that is no success, as an error to throw. `body` is its text. */
export function answerFailure(response: Response, body: string, { secrets }: Endpoint): EmbeddingError {
  const { status, headers } = response;
  const said = readStatus(body);
  const message = withoutSecrets(said.message ?? body, secrets);
  const cause: AnswerCause = { status };
  const plain = httpEmbeddingError({ provider, status, message, code: said.status, headers, cause });
  const kind = kindOf(status, said) ?? plain.kind;
  const retryAfterMs = kind === "quota" ? undefined : (retryDelay(said) ?? plain.retryAfterMs);
  return new EmbeddingError(kind, plain.message, { cause, retryAfterMs });
}

/** One that leads to another host, or to another place of the same one. */
export function redirectFailure(response: Response, { base }: Endpoint): EmbeddingError {
  const target = URL.parse(response.headers.get("location") ?? "", response.url);
  const place = target === null ? "another address" : `${target.protocol}//${target.host}`;
  const cause: AnswerCause = { status: response.status };
  return new EmbeddingError(
    "auth",
    `${provider}: ${base.host} answered ${response.status} and points to ${place}, where notes and key are not sent; correct ${base.source ?? "remote.baseUrl"}`,
    { cause },
  );
}

/** Anything that went wrong on the way or in reading an answer. */
export function unexpectedFailure(error: unknown, { base, secrets }: Endpoint): EmbeddingError {
  if (EmbeddingError.is(error)) return error;
  const hide = (said: string): string => withoutSecrets(said, secrets);
  if (error instanceof SyntaxError)
    return transient(`${base.host} answered with something that is no JSON`, error, true);
  if (!isNetworkError(error)) {
    const what =
      error instanceof TypeError ? "something that cannot be read" : `something unexpected (${hide(messageOf(error))})`;
    return transient(`${base.host} answered with ${what}`, error, true);
  }
  const hasCost = messageOf(error) === "terminated";
  return transient(networkFailure(error, { url: base.address, hide }).message, error, hasCost);
}

/** A success whose content is not what was asked for. */
export function oddAnswer({ base }: Endpoint, what: string): EmbeddingError {
  return transient(`${base.host} answered with ${what}`, undefined, true);
}

/** `hasCost`: an answer had begun. */
function transient(words: string, cause: unknown, hasCost: boolean): EmbeddingError {
  return new EmbeddingError("transient", `${provider}: ${words}`, { hasCost, ...(cause !== undefined && { cause }) });
}

/** What Google says of a failure, as far as it is used here. */
interface GoogleStatus {
  status?: string | undefined;
  message?: string | undefined;
  details: readonly Record<string, unknown>[];
}

/** Reads `{ error: { status, message, details } }`; a gateway may send `{ message }`, or words that are no JSON. */
function readStatus(body: string): GoogleStatus {
  const parsed = parse(body);
  const outer = record(Array.isArray(parsed) ? parsed[0] : parsed);
  const error = record(outer?.["error"]) ?? outer;
  const listed: unknown[] = Array.isArray(error?.["details"]) ? error["details"] : [];
  const details = listed.map(record).filter((detail) => detail !== undefined);
  return {
    status: text(error?.["status"]),
    message: text(error?.["message"]) ?? text(outer?.["error"]),
    details,
  };
}

/** Where Google's answers mean something else than their number says. */
function kindOf(status: number, { status: word, message = "", details }: GoogleStatus): EmbeddingFailure | undefined {
  if (status === 429) return limitKind(message, details);
  if (status !== 400) return undefined;
  // Not offered in this country, no billing: it is so whatever is sent.
  if (word === "FAILED_PRECONDITION") return "auth";
  if (details.some(({ reason }) => typeof reason === "string" && reason.startsWith("API_KEY_"))) return "auth";
  // Settings that the model does not take. Each text would be refused for the same reason.
  const blamed = [message, ...details.map((detail) => JSON.stringify(detail["fieldViolations"] ?? ""))].join(" ");
  return /task_?type|output_?dimensionality/i.test(blamed) ? "auth" : undefined;
}

/**
 * Every 429 speaks of the current quota, of plan and billing, that of a full minute too. Which limit it was stands in
 * the details; the delay that goes with a spent day is that of the minute, and does not help.
 */
function limitKind(message: string, details: readonly Record<string, unknown>[]): EmbeddingFailure {
  const limits = details.map((detail) => JSON.stringify([detail["violations"], detail["metadata"]])).join(" ");
  if (/per_?day/i.test(limits) || /per ?day|daily|limit: 0\b/i.test(message)) return "quota";
  return /credits?\b|spend(?:ing)? cap|prepa(?:id|yment)/i.test(message) ? "quota" : "rate";
}

/** `RetryInfo` among the details, or the words of the message, in milliseconds. */
function retryDelay({ message = "", details }: GoogleStatus): number | undefined {
  const stated = details.map((detail) => text(detail["retryDelay"])).find((delay) => delay !== undefined);
  const seconds = /^([\d.]+)s$/.exec(stated ?? "")?.[1] ?? /retry in ([\d.]+)s/i.exec(message)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

/** `fetch` says that no answer came, or that it ended too early, in these words and no others. */
function isNetworkError(error: unknown): boolean {
  const hasCode = error instanceof Error && text(record(error.cause)?.["code"]) !== undefined;
  return hasCode || (error instanceof TypeError && /^(?:fetch failed|terminated)$/.test(error.message));
}

function withoutSecrets(message: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "(hidden)"), message);
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // Words that are no JSON are told as they are.
    return undefined;
  }
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
