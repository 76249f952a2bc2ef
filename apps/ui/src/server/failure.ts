import { MemoryError, type MemoryErrorCode, isAbort, messageOf } from "@memslot/core";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Failure } from "../api/facts.ts";

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
  return told(context, 500, "INTERNAL", messageOf(error));
}

export function told(context: Context, status: ContentfulStatusCode, code: string, message: string): Response {
  return context.json({ error: { code, message } } satisfies Failure, status);
}
