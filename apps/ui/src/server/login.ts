import { isSameSecret } from "@memslot/core/loopback";
import type { Hono, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { told } from "./failure.ts";

export interface LoginSecrets {
  /** Stands in the fragment of the address that the command prints, which no server is sent. */
  token: string;
  /** Stands in the cookie. Kept between runs, so that an open page survives a restart of the command. */
  session: string;
}

/** A browser sends cookies to every port of a host: two pages must not take each other's. */
function cookieName(port: number): string {
  return `memslot-ui-${port}`;
}

/** `POST /api/login` trades the token for a cookie that only this page's own requests carry. */
export function serveLogin(app: Hono, { token, session }: LoginSecrets, port: number): void {
  app.post("/api/login", async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined);
    const given = typeof body === "object" && body !== null && "token" in body ? body.token : undefined;
    if (typeof given !== "string" || !isSameSecret(given, token))
      return told(
        context,
        401,
        "UNAUTHORIZED",
        "this is not the token of this page: open the address that the command printed",
      );
    setCookie(context, cookieName(port), session, { httpOnly: true, sameSite: "Strict", path: "/" });
    return context.body(null, 204);
  });
}

/** Lets nobody through who has not logged in. */
export function loggedIn({ session }: LoginSecrets, port: number): MiddlewareHandler {
  return async (context, next) => {
    const given = getCookie(context, cookieName(port)) ?? "";
    if (!isSameSecret(given, session))
      return told(context, 401, "UNAUTHORIZED", "open the address that the command printed: it lets this browser in");
    return next();
  };
}
