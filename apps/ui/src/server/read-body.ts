import type { Context } from "hono";
import { RouteError } from "./failure.ts";

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
