import type { MiddlewareHandler, Context } from "hono";
import { type Memory, MemoryError, type MemoryErrorCode, isAbort, messageOf } from "@memslot/core";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Failure } from "../api-types.ts";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The content security policy: own scripts and requests to the own server only. */
export const restricted: MiddlewareHandler = async (context, next) => {
  await next();
  const { headers } = context.res;
  headers.set("content-security-policy", policy);
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-frame-options", "DENY");
  headers.set("referrer-policy", "no-referrer");
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-resource-policy", "same-origin");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
};

const maxBodyBytes = 8 * 1024 * 1024;

/** Refuses changes from other pages: a form or link cannot send JSON with this Origin. */
export const fromThePage: MiddlewareHandler = async (context, next) => {
  const { method } = context.req;
  if (method === "GET" || method === "HEAD") return next();
  const site = context.req.header("sec-fetch-site");
  const isJson = /^application\/json\b/iu.test(context.req.header("content-type") ?? "");
  if (!isJson || context.req.header("origin") === undefined || (site !== undefined && site !== "same-origin"))
    return context.json({ error: { code: "FORBIDDEN", message: "only the page itself may ask for this" } }, 403);
  if (Number(context.req.header("content-length") ?? maxBodyBytes + 1) > maxBodyBytes)
    return context.json({ error: { code: "INVALID_ARGUMENT", message: "this is too much at once" } }, 413);
  return next();
};

/** The fields of the request body. Throws a `RouteError` if it is no JSON object. */
export async function bodyOf(context: Context): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await context.req.json().catch(() => undefined);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new RouteError(400, "INVALID_ARGUMENT", "this is no JSON object");
  return body as Record<string, unknown>;
}

export function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value !== "string") throw new RouteError(400, "INVALID_ARGUMENT", `${name} must be a text`);
  return value;
}

export class RouteError extends Error {
  readonly status: 400 | 403 | 404 | 409;
  readonly code: string;

  constructor(status: 400 | 403 | 404 | 409, code: string, message: string) {
    super(message);
    this.name = "RouteError";
    this.status = status;
    this.code = code;
  }
}

export function refuseReadOnly({ readOnly }: { readOnly: boolean }): void {
  if (!readOnly) return;
  const next = "start memslot ui without --read-only to change something";
  throw new RouteError(403, "FORBIDDEN", `this page only looks: ${next}`);
}

/** In the background: the page gets an event when the change is indexed. */
export function syncAfterWrite(memory: Memory, reason: string): void {
  memory.sync({ reason }).catch((error: unknown) => {
    process.emitWarning(`the note is saved, and is not indexed yet: ${messageOf(error)}`);
  });
}

const statuses: Partial<Record<MemoryErrorCode, ContentfulStatusCode>> = {
  INVALID_ARGUMENT: 400,
  PATH_NOT_ALLOWED: 403,
  CONFIG: 409,
  WORKSPACE: 409,
  BUSY: 409,
  CLOSED: 503,
  UNAVAILABLE: 503,
};

/** Answers with a failure, unless the request was aborted. */
export function failed(context: Context, error: unknown): Response {
  if (isAbort(error)) return context.body(null, 204);
  if (error instanceof RouteError) return told(context, error.status, error.code, error.message);
  if (MemoryError.is(error)) return told(context, statuses[error.code] ?? 500, error.code, error.message);
  // The terminal has the details: they are for the one who runs the server.
  process.emitWarning(`${context.req.method} ${context.req.path} failed: ${messageOf(error)}`);
  return told(context, 500, "INTERNAL", "");
}

export function told(context: Context, status: ContentfulStatusCode, code: string, message: string): Response {
  return context.json({ error: { code, message } } satisfies Failure, status);
}
