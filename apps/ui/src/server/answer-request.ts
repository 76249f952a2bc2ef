import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isAbort, MemoryError, messageOf } from "@memslot/core";
import { sentenceOf } from "@memslot/core/host";
import type { Failure } from "../api-types.ts";

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

const statuses = {
  INVALID_ARGUMENT: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  PATH_NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  TOO_LARGE: 413,
  CONFIG: 409,
  WORKSPACE: 409,
  BUSY: 409,
  CONFLICT: 409,
  CLOSED: 503,
  UNAVAILABLE: 503,
} as const;

/** A failed answer. Its code decides its status. */
export class RouteError extends Error {
  readonly code: keyof typeof statuses;

  constructor(code: keyof typeof statuses, message: string) {
    super(message);
    this.code = code;
  }
}

export function notThere(what: "note" | "transcript", path: string): never {
  throw new RouteError("NOT_FOUND", `there is no ${what} ${JSON.stringify(path)}`);
}

/** With the content security policy: own scripts and requests to the own server only. A Headers object loads undici. */
const headersOfAll = new Map(
  Object.entries({
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  }),
);
const maxBodyBytes = 8 * 1024 * 1024;
const leastCompressed = 1024;
/** In another thread. */
export const compressed: (whole: Buffer) => Promise<Buffer> = promisify<Buffer, Buffer>(gzip);
/** Requests other than GET that write no note and no setting. */
const harmless = new Set(["/api/login", "/api/map/labels", "/api/health/sync", "/api/health/check"]);

interface Answering {
  routes: Routes;
  page: Answerer;
  /** The reason why a request is not for this server. */
  notHere: (request: IncomingMessage) => string | undefined;
  signedIn: (request: IncomingMessage) => boolean;
  host: { readonly readOnly: boolean };
}

/** Answers `/api/` from the routes, to signed-in pages, everything else from the built page, and each failure as JSON. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { notHere, page, ...api }: Answering,
): Promise<void> {
  try {
    response.setHeaders(headersOfAll);
    const refusal = notHere(request);
    if (refusal !== undefined) throw new RouteError("FORBIDDEN", refusal);
    // Relative to an origin, `//` would be no address.
    const url = new URL(`http://localhost${request.url}`);
    await (url.pathname.startsWith("/api/") ? answerRoute(request, response, url, api) : page(request, response, url));
  } catch (error) {
    if (isAbort(error)) return void response.writeHead(204).end();
    const isKnown = error instanceof RouteError || MemoryError.is(error);
    // The text of an unexpected error is for the terminal only.
    if (!isKnown) process.emitWarning(`${request.method} ${request.url?.split("?")[0]} failed: ${messageOf(error)}`);
    const code = isKnown ? error.code : "INTERNAL";
    const { reason: message, ...meaning } = sentenceOf(isKnown ? error : "");
    const status = Object.hasOwn(statuses, code) ? statuses[code as keyof typeof statuses] : 500;
    if (!response.headersSent && !response.destroyed)
      await sendJson(request, response, status, { error: { code, message, meaning } } satisfies Failure);
  }
}

async function answerRoute(
  request: IncomingMessage,
  response: ServerResponse,
  { pathname, searchParams }: URL,
  { routes, signedIn, host }: Pick<Answering, "routes" | "signedIn" | "host">,
): Promise<void> {
  const { method = "" } = request;
  const isChange = method !== "GET";
  if (isChange) refuseOtherSites(request);
  if (pathname !== "/api/login" && !signedIn(request))
    throw new RouteError("UNAUTHORIZED", "open the address that memslot ui prints: it lets this browser in");
  const route = routes[`${method} ${pathname}`];
  if (route === undefined) throw new RouteError("NOT_FOUND", `nothing is served at ${pathname}`);
  if (host.readOnly && isChange && !harmless.has(pathname))
    throw new RouteError("FORBIDDEN", "this page is read-only: start memslot ui without --read-only to change it");
  const left = new AbortController();
  response.once("close", () => left.abort());
  const query = Object.fromEntries([...searchParams].toReversed());
  const body = isChange ? await bodyOf(request) : {};
  const answer = await route({ query, body, signal: left.signal, request, response });
  if (answer !== undefined) await sendJson(request, response, 200, answer);
}

/** Refuses changes from other pages: a form or link cannot send JSON with this Origin. */
function refuseOtherSites({ headers }: IncomingMessage): void {
  const site = headers["sec-fetch-site"] ?? "same-origin";
  const isJson = /^application\/json\b/iu.test(headers["content-type"] ?? "");
  if (!isJson || headers.origin === undefined || site !== "same-origin")
    throw new RouteError("FORBIDDEN", "only the page itself may ask for this");
  if (Number(headers["content-length"] ?? maxBodyBytes + 1) > maxBodyBytes)
    throw new RouteError("TOO_LARGE", "the request is larger than 8 MiB");
}

async function bodyOf(request: IncomingMessage): Promise<Asked["body"]> {
  const body = await text(request)
    .then((given): unknown => JSON.parse(given))
    .catch(() => undefined);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new RouteError("INVALID_ARGUMENT", "the body is not a JSON object");
  return body as Asked["body"];
}

/** A text of the body. */
export function textOf({ body }: Pick<Asked, "body">, name: string): string {
  const value = body[name];
  if (typeof value !== "string") throw new RouteError("INVALID_ARGUMENT", `${name} must be a text`);
  return value;
}

/** A number of the query, if it has this name. */
export function numberOf({ query }: Pick<Asked, "query">, name: string): number | undefined {
  const { [name]: given = "" } = query;
  if (given.trim() === "") return undefined;
  if (!/^\d{1,15}(?:\.\d+)?$/u.test(given)) throw new RouteError("INVALID_ARGUMENT", `${name} must be a number`);
  return Number(given);
}

/** Sends nothing to a page that has the answer already. */
async function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  answer: unknown,
): Promise<void> {
  const whole = Buffer.from(JSON.stringify(answer));
  const tag = `W/"${createHash("sha256").update(whole).digest("base64url")}"`;
  response.setHeader("cache-control", "no-store").setHeader("content-type", "application/json");
  if (status === 200) {
    response.setHeader("etag", tag);
    if (request.headers["if-none-match"] === tag) return void response.writeHead(304).end();
  }
  response.statusCode = status;
  await sendBody(request, response, whole);
}

/** Sends a body, compressed for a client that accepts it. */
export async function sendBody(
  { headers }: IncomingMessage,
  response: ServerResponse,
  whole: Buffer,
  small?: Promise<Buffer>,
): Promise<void> {
  const isSmall = whole.length >= leastCompressed && /\bgzip\b/u.test(String(headers["accept-encoding"]));
  const body = isSmall ? await (small ?? compressed(whole)) : whole;
  if (isSmall) response.setHeader("content-encoding", "gzip");
  response.setHeader("content-length", body.length).setHeader("vary", "accept-encoding").end(body);
}
