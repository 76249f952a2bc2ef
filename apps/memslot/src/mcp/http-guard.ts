import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request is not let in; undefined for one that is. */
export interface Refusal {
  status: 401 | 403 | 404;
  message: string;
  headers?: Record<string, string>;
}

type HttpGuard = (request: IncomingMessage) => Refusal | undefined;

/**
 * Decides by the head of a request alone. `Host` and `Origin` come first: a web page that had its name lead to this
 * machine is turned away before it learns anything.
 */
export function createHttpGuard(options: { port: number; host: string; path: string; token: string }): HttpGuard {
  const { port, host, path } = options;
  const hostname = host.includes(":") ? `[${host}]` : host;
  // Through URL, which leaves the usual port out as a client does.
  const origins = new Set([hostname, "localhost"].map((name) => new URL(`http://${name}:${port}`).origin));
  const expected = digest(options.token);

  return (request) => {
    if (!origins.has(originOf(`http://${request.headers.host ?? ""}`) ?? ""))
      return { status: 403, message: "this Host is not served" };
    const { origin } = request.headers;
    if (origin !== undefined && !origins.has(originOf(origin) ?? ""))
      return { status: 403, message: "this Origin is not served" };
    const [, given] = /^Bearer +(\S+)$/iu.exec(request.headers.authorization ?? "") ?? [];
    if (given === undefined || !timingSafeEqual(digest(given), expected))
      return {
        status: 401,
        message: "a bearer token is needed",
        headers: {
          "www-authenticate": `Bearer realm="memslot"${given === undefined ? "" : ', error="invalid_token"'}`,
        },
      };
    if (request.url !== path && request.url?.startsWith(`${path}?`) !== true)
      return { status: 404, message: `only ${path} is served` };
    return undefined;
  };
}

/** Of one length whatever is compared, so that the time it takes says nothing. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.pathname === "/" && url.username === "" && url.search === "" && url.hash === "" ? url.origin : undefined;
}
