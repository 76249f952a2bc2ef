import { type Answer, type Call, geminiError, openaiError } from "./answer.ts";

/** Paths that only Gemini has. `/v1/files`, `/v1/batches` and `/v1/models` are both APIs': there the key tells. */
export function isGeminiPath(path: string): boolean {
  return /^\/(?:v1alpha|v1beta|upload|download)\b/.test(path) || /^\/v1\/(?:tuned)?models\/[^/]+:\w/i.test(path);
}

/** True when the request is meant for Gemini. */
export function isGeminiCall({ url, headers }: Call): boolean {
  return isGeminiPath(url.pathname) || geminiKey({ url, headers }) !== undefined;
}

/** The refusal of a request whose key is missing or wrong, or undefined when it may go on. */
export function refusal(call: Call, apiKey: string | undefined): Answer | undefined {
  if (isGeminiCall(call)) {
    const key = geminiKey(call);
    if (key === undefined) return geminiError(401, "Method doesn't allow unregistered callers. Please use an API key.");
    if (apiKey === undefined || key === apiKey) return undefined;
    return geminiError(401, "API key not valid. Please pass a valid API key.");
  }
  if (apiKey === undefined) return undefined;
  const [, key = ""] = /^Bearer\s+(.*)$/i.exec(call.headers.authorization ?? "") ?? [];
  if (key === apiKey) return undefined;
  if (key === "")
    return openaiError(
      401,
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    );
  const shown = key.length > 8 ? `${key.slice(0, 4)}${"*".repeat(key.length - 8)}${key.slice(-4)}` : "********";
  return openaiError(401, `Incorrect API key provided: ${shown}.`, { code: "invalid_api_key" });
}

function geminiKey({ url, headers }: Pick<Call, "url" | "headers">): string | undefined {
  return headers["x-goog-api-key"] ?? url.searchParams.get("key") ?? undefined;
}
