import { createHash } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isAbort } from "@memslot/core";
import { RouteError, failureOf, formerCookies, headersOfAll, refuseOtherSites, sendBody } from "./http-answers.ts";
import type { BuiltPage } from "./static-files.ts";

/** A request to a route. */
export interface Asked {
  /** By name, the first of several. */
  query: Readonly<Record<string, string | undefined>>;
  /** The variable part of the path. */
  id: string;
  /** The fields of the JSON body. */
  body: Readonly<Record<string, unknown>>;
  /** Aborted if the page leaves before it has the answer. */
  signal: AbortSignal;
  request: IncomingMessage;
  response: ServerResponse;
}

/** By method and path, in which `:id` is variable. A route returns JSON; one that answers by itself returns nothing. */
export type Routes = Readonly<Record<string, (asked: Asked) => unknown>>;

const leastCompressed = 1024;
const compressed = promisify(gzip);

/** Answers `/api/` from the routes, for pages that `signedIn` accepts, and everything else from the built page. */
export function createRequestListener({
  routes,
  page,
  signedIn,
}: {
  routes: Routes;
  page: BuiltPage;
  signedIn: (request: IncomingMessage) => boolean;
}): RequestListener {
  async function answerRoute(request: IncomingMessage, response: ServerResponse, { pathname, searchParams }: URL) {
    refuseOtherSites(request);
    if (pathname !== "/api/login" && !signedIn(request))
      throw new RouteError(401, "UNAUTHORIZED", "open the address that memslot ui prints: it lets this browser in");
    const { method = "" } = request;
    const [, id = ""] = /^\/api\/changes\/([^/]+)\//u.exec(pathname) ?? [];
    const route = routes[`${method} ${pathname}`] ?? routes[`${method} ${pathname.replace(`/${id}/`, "/:id/")}`];
    if (route === undefined) throw new RouteError(404, "NOT_FOUND", `nothing is served at ${pathname}`);
    const left = new AbortController();
    response.once("close", () => left.abort());
    const query = Object.fromEntries([...searchParams].toReversed());
    const body = method === "GET" ? {} : await bodyOf(request);
    const answer = await route({ query, id, body, signal: left.signal, request, response });
    if (answer !== undefined) await sendJson(request, response, 200, answer);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(headersOfAll)) response.setHeader(name, value);
    const cookies = formerCookies(request);
    if (cookies.length > 0) response.setHeader("set-cookie", cookies);
    // Relative to an origin, `//` would be no address.
    const url = new URL(`http://localhost${request.url}`);
    if (url.pathname.startsWith("/api/")) await answerRoute(request, response, url);
    else await page.send(request, response, url);
  }

  return (request, response) => {
    answer(request, response)
      .catch(async (error: unknown) => {
        if (isAbort(error)) return void response.writeHead(204).end();
        const { status, ...failure } = failureOf(error, request);
        if (!response.headersSent && !response.destroyed) await sendJson(request, response, status, failure);
      })
      .catch(() => response.destroy());
  };
}

async function bodyOf(request: IncomingMessage): Promise<Asked["body"]> {
  const body = await text(request)
    .then((given): unknown => JSON.parse(given))
    .catch(() => undefined);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new RouteError(400, "INVALID_ARGUMENT", "this is no JSON object");
  return body as Asked["body"];
}

/** Sends nothing to a page that has the answer already. */
async function sendJson(request: IncomingMessage, response: ServerResponse, status: number, answer: unknown) {
  const whole = Buffer.from(JSON.stringify(answer));
  const tag = `W/"${createHash("sha256").update(whole).digest("base64url")}"`;
  const isKnown = status === 200 && request.headers["if-none-match"] === tag;
  response.setHeader("cache-control", "no-store");
  if (status === 200) response.setHeader("etag", tag);
  if (isKnown) return void response.writeHead(304).end();
  const isSmall = whole.length < leastCompressed;
  response.setHeader("content-type", "application/json");
  await sendBody(request, response, status, whole, isSmall ? undefined : await compressed(whole));
}
