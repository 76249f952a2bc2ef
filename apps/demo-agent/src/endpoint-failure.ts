import { isAbort, messageOf } from "@memslot/core";
import type { Endpoint } from "./options.ts";

/** One line about what went wrong at the endpoint and what to do about it. The key is never in it. */
export function endpointFailure(error: unknown, endpoint: Endpoint, timeoutMs: number): string {
  const where = endpoint.baseUrl ?? "the OpenAI API";
  const told = shortened(withoutKey(messageOf(error), endpoint.apiKey));
  const status = statusOf(error);
  if (status === 401 || status === 403) return `${where} refused the key (${status}): check OPENAI_API_KEY`;
  if (status === 404) return `${where} knows no model "${endpoint.model}" (404): check --model and OPENAI_BASE_URL`;
  if (status === 429) return `${where} takes no more requests for now (429): ${told}`;
  if (status !== undefined) return `${where} answered with an error: ${told}`;
  const name = error instanceof Error ? error.constructor.name : "";
  if (name === "APIConnectionTimeoutError" || isAbort(error) || name === "APIUserAbortError") {
    return `${where} gave no answer within ${timeoutMs / 1000} s`;
  }
  if (name === "APIConnectionError")
    return `cannot reach ${where}: check OPENAI_BASE_URL and the network (${innermost(error)})`;
  return `no answer from ${where}: ${told}`;
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("status" in error)) return undefined;
  return typeof error.status === "number" ? error.status : undefined;
}

/** Some endpoints put the key that they were given into their error. */
function withoutKey(text: string, apiKey: string | undefined): string {
  return apiKey === undefined ? text : text.replaceAll(apiKey, "[key]");
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function innermost(error: unknown): string {
  let last = error;
  while (last instanceof Error && last.cause !== undefined) last = last.cause;
  return shortened(messageOf(last));
}
