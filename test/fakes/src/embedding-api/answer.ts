import table from "./gemini/words.json" with { type: "json" };

/** What a route answers with: an object becomes JSON, text and bytes go as they are. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A request as the routes see it. */
export interface Call {
  method: string;
  url: URL;
  headers: Record<string, string>;
  raw: Buffer;
  /** The body, where it is JSON. */
  json: unknown;
}

export function ok(body: unknown, headers: Record<string, string> = {}): Answer {
  return { status: 200, headers, body };
}

export function openaiError(
  status: number,
  message: string,
  details: { type?: string; code?: string; param?: string } = {},
): Answer {
  const { type = "invalid_request_error", code = null, param = null } = details;
  return { status, body: { error: { message, type, param, code } } };
}

const words: Record<number, string> = table;

export function geminiError(code: number, message: string): Answer {
  return { status: code, body: { error: { code, message, status: words[code] ?? "UNKNOWN" } } };
}

/** The bytes and the content type that an answer is sent with. */
export function encode({ body }: Answer): { bytes: Buffer; type: string } {
  if (Buffer.isBuffer(body)) return { bytes: body, type: "application/octet-stream" };
  if (typeof body !== "string") return { bytes: Buffer.from(JSON.stringify(body)), type: "application/json" };
  return { bytes: Buffer.from(body), type: /^\s*</.test(body) ? "text/html; charset=UTF-8" : "text/plain" };
}
