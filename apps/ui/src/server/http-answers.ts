import type { IncomingMessage, ServerResponse } from "node:http";
import { type Memory, MemoryError, type MemoryErrorCode, messageOf } from "@memslot/core";
import type { Failure } from "../api-types.ts";

/** With the content security policy: own scripts and requests to the own server only. */
export const headersOfAll: Headers = new Headers({
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
});

const maxBodyBytes = 8 * 1024 * 1024;

/** Refuses changes from other pages: a form or link cannot send JSON with this Origin. */
export function refuseOtherSites({ method, headers }: IncomingMessage): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers["sec-fetch-site"];
  const isJson = /^application\/json\b/iu.test(headers["content-type"] ?? "");
  if (!isJson || headers.origin === undefined || (site !== undefined && site !== "same-origin"))
    throw new RouteError(403, "FORBIDDEN", "only the page itself may ask for this");
  if (Number(headers["content-length"] ?? maxBodyBytes + 1) > maxBodyBytes)
    throw new RouteError(413, "INVALID_ARGUMENT", "this is too much at once");
}

export function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value !== "string") throw new RouteError(400, "INVALID_ARGUMENT", `${name} must be a text`);
  return value;
}

/** The status and the body of a failed answer. `fields`: more of its body. */
export class RouteError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: object;

  constructor(status: number, code: string, message: string, fields: object = {}) {
    super(message);
    this.name = "RouteError";
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/** In the background: the page gets an event when the change is indexed. */
export function syncAfterWrite(memory: Memory, reason: string): void {
  memory.sync({ reason }).catch((error: unknown) => {
    process.emitWarning(`the note is saved, and is not indexed yet: ${messageOf(error)}`);
  });
}

const statuses: Partial<Record<MemoryErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  PATH_NOT_ALLOWED: 403,
  CONFIG: 409,
  WORKSPACE: 409,
  BUSY: 409,
  CLOSED: 503,
  UNAVAILABLE: 503,
};

/** The answer to a request that failed. The text of an unexpected error is for the terminal only. */
export function failureOf(error: unknown, { method, url = "" }: IncomingMessage): Failure & { status: number } {
  if (error instanceof RouteError || MemoryError.is(error)) {
    const { code, message } = error;
    const { status, fields } =
      error instanceof RouteError ? error : { status: statuses[error.code] ?? 500, fields: {} };
    return { status, error: { code, message }, ...fields };
  }
  process.emitWarning(`${method} ${url.split("?")[0]} failed: ${messageOf(error)}`);
  return { status: 500, error: { code: "INTERNAL", message: "" } };
}

/** Sends a body, compressed for a client that accepts it. */
export function sendBody(
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  whole: Buffer,
  small: Buffer | undefined,
): void {
  const isSmall = small !== undefined && /\bgzip\b/u.test(String(headers["accept-encoding"]));
  const body = isSmall ? small : whole;
  if (isSmall) response.setHeader("content-encoding", "gzip");
  response.writeHead(status, { "content-length": body.length, vary: "accept-encoding" });
  response.end(method === "HEAD" ? undefined : body);
}
