import type { IncomingMessage } from "node:http";
import { type LoopbackPlace, bearerOf, createHostCheck, isSameSecret } from "@memslot/core/loopback";

/** Why a request is not let in; undefined for one that is. */
export interface Refusal {
  status: 401 | 403 | 404;
  message: string;
  headers?: Record<string, string>;
}

type HttpGuard = (request: IncomingMessage) => Refusal | undefined;

/** Decides by the head of a request alone. `Host` and `Origin` come first. */
export function createHttpGuard(options: LoopbackPlace & { path: string; token: string }): HttpGuard {
  const { path, token } = options;
  const notHere = createHostCheck(options);

  return (request) => {
    const message = notHere(request);
    if (message !== undefined) return { status: 403, message };
    const given = bearerOf(request.headers.authorization);
    if (given === undefined || !isSameSecret(given, token))
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
