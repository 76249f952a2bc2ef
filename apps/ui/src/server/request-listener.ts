import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isAbort } from "@memslot/core";
import { RouteError, failureOf, headersOfAll, refuseOtherSites, sendBody } from "./http-answers.ts";

/** A request to a route. */
export interface Asked {
  /** By name, the first of several. */
  query: Readonly<Record<string, string | undefined>>;
  /** The fields of the JSON body. */
  body: Readonly<Record<string, unknown>>;
  /** Aborted if the page leaves before it has the answer. */
  signal: AbortSignal;
  request: IncomingMessage;
  response: ServerResponse;
}

/** By method and path. A route returns JSON; one that answers by itself returns nothing. */
export type Routes = Readonly<Record<string, (asked: Asked) => unknown>>;

/** Answers a request with the URL that it names. */
export type Answerer = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

const leastCompressed = 1024;
const compressed = promisify(gzip);
/** Requests other than GET that write no note and no setting. */
const harmless = new Set(["/api/login", "/api/map/labels", "/api/health/sync", "/api/health/check"]);

/** Answers from the routes, to pages that `signedIn` accepts; to a `readOnly` host's without changes. */
export function routeAnswerer(
  routes: Routes,
  signedIn: (request: IncomingMessage) => boolean,
  host: { readonly readOnly: boolean },
): Answerer {
  return async (request, response, { pathname, searchParams }) => {
    refuseOtherSites(request);
    if (pathname !== "/api/login" && !signedIn(request))
      throw new RouteError(401, "UNAUTHORIZED", "open the address that memslot ui prints: it lets this browser in");
    const { method = "" } = request;
    const route = routes[`${method} ${pathname}`];
    if (route === undefined) throw new RouteError(404, "NOT_FOUND", `nothing is served at ${pathname}`);
    if (host.readOnly && method !== "GET" && !harmless.has(pathname))
      throw new RouteError(
        403,
        "FORBIDDEN",
        "this page is read-only: start memslot ui without --read-only to change it",
      );
    const left = new AbortController();
    response.once("close", () => left.abort());
    const query = Object.fromEntries([...searchParams].toReversed());
    const body = method === "GET" ? {} : await bodyOf(request);
    const answer = await route({ query, body, signal: left.signal, request, response });
    if (answer !== undefined) await sendJson(request, response, 200, answer);
  };
}

/** Answers `/api/` from the routes, everything else from the built page, and each failure as JSON. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { api, page }: Readonly<Record<"api" | "page", Answerer>>,
): Promise<void> {
  try {
    response.setHeaders(headersOfAll);
    // Relative to an origin, `//` would be no address.
    const url = new URL(`http://localhost${request.url}`);
    await (url.pathname.startsWith("/api/") ? api : page)(request, response, url);
  } catch (error) {
    if (isAbort(error)) return void response.writeHead(204).end();
    const { status, ...failure } = failureOf(error, request);
    if (!response.headersSent && !response.destroyed) await sendJson(request, response, status, failure);
  }
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
  response.setHeader("cache-control", "no-store");
  if (status === 200) {
    response.setHeader("etag", tag);
    if (request.headers["if-none-match"] === tag) return void response.writeHead(304).end();
  }
  response.setHeader("content-type", "application/json");
  sendBody(request, response, status, whole, whole.length < leastCompressed ? undefined : await compressed(whole));
}
