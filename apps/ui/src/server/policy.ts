import type { MiddlewareHandler } from "hono";

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
