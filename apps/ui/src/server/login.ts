import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { bearerOf, isSameSecret } from "@memslot/core/loopback";
import type { Context, Hono, MiddlewareHandler } from "hono";
import { told } from "./request-checks.ts";

export interface LoginOptions {
  /** In the fragment of the printed address, which browsers send to no server. Valid for one login. */
  secret: string;
  /** The file with the signing key. A new key revokes all tokens. */
  keyFile: string;
}

/** Whether a request, or its stream, comes from a signed-in page. */
export type SignedIn = (context: Context) => boolean;

const lifetimeMs = 7 * 24 * 60 * 60 * 1000;
const leastKeyLength = 16;

/**
 * `POST /api/login` exchanges the secret of the address for a bearer token of 7 days, signed for this port. All else
 * below `/api` needs a token.
 */
export function serveLogin(app: Hono, { secret, keyFile }: LoginOptions, port: number): SignedIn {
  let unused: string | undefined = secret;
  const signature = (end: string): string | undefined => {
    const key = keyIn(keyFile);
    return key && createHmac("sha256", key).update(`memslot ui\n${port}\n${end}`).digest("base64url");
  };
  const signedIn: SignedIn = (context) => {
    const [end = "", given = ""] = bearerOf(context.req.header("authorization"))?.split(".") ?? [];
    const expected = signature(end);
    return expected !== undefined && isSameSecret(given, expected) && Number(end) > Date.now();
  };

  app.post("/api/login", async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined);
    const given = typeof body === "object" && body !== null && "secret" in body ? body.secret : undefined;
    if (unused === undefined || typeof given !== "string" || !isSameSecret(given, unused))
      return told(context, 401, "UNAUTHORIZED", "this address has been used, or is an old one: start memslot ui again");
    const end = String(Date.now() + lifetimeMs);
    const signed = signature(end);
    if (signed === undefined) return told(context, 401, "UNAUTHORIZED", "the key is gone: start memslot ui again");
    unused = undefined;
    return context.json({ token: `${end}.${signed}` });
  });
  app.use("/api/*", async (context, next) => {
    if (signedIn(context)) return next();
    return told(context, 401, "UNAUTHORIZED", "open the address that memslot ui prints: it lets this browser in");
  });
  return signedIn;
}

function keyIn(file: string): string | undefined {
  try {
    const key = readFileSync(file, "utf8").trim();
    return key.length < leastKeyLength ? undefined : key;
  } catch {
    return undefined; // Removed since.
  }
}

/** Removes cookies of earlier versions: a browser sends them to every port of this machine. */
export const withoutOldCookies: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name] of (context.req.header("cookie") ?? "").matchAll(/\bmemslot-ui-\d+(?==)/gu))
    context.res.headers.append("set-cookie", `${name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`);
};
