import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf } from "@memslot/core";
import {
  type LoopbackPlace,
  bearerOf,
  createHostCheck,
  createLoopbackServer,
  isSameSecret,
  listenOn,
  loopbackUrl,
} from "@memslot/core/loopback";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { type McpServerFactory, createMcpHandler } from "@modelcontextprotocol/server";
import { createOpenRequests } from "./pending-requests.ts";

const PATH = "/mcp";
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export interface ServeHttpOptions {
  factory: McpServerFactory;
  /** A loopback address. */
  host: string;
  /** 0: any free one. */
  port: number;
  token: string;
  notice: (line: string) => void;
  onListening: (url: string) => void;
  /** Ends the server after the pending requests. */
  signal: AbortSignal;
}

/** Serves clients over HTTP until `signal` is aborted, then finishes within five seconds. Throws `UNAVAILABLE`. */
export async function serveOverHttp(options: ServeHttpOptions): Promise<void> {
  const { host, signal, notice } = options;
  const onerror = (error: Error): void => notice(`MCP: ${messageOf(error).slice(0, 300)}`);
  const handler = createMcpHandler(options.factory, { onerror, maxRequestBodySize: MAX_BODY_BYTES });
  const convert = toNodeHandler(handler, { onerror, maxRequestBodySize: MAX_BODY_BYTES });
  // Its types allow no undefined fields.
  const handle = (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    convert(request as Parameters<typeof convert>[0], response);
  const server = createLoopbackServer();
  const port = await listenOn(server, options);
  const guard = createHttpGuard({ host, port, path: PATH, token: options.token });
  const open = createOpenRequests();
  server.on("request", (request, response) => {
    const refusal = guard(request);
    // A listening stream ends with the server.
    if (refusal === undefined && request.method === "POST") {
      open.begin(response);
      response.once("close", () => open.end(response));
    }
    if (refusal !== undefined) refuse(request, response, refusal);
    else void handle(request, response).catch(onerror); // errors of one exchange end that one
  });
  options.onListening(`${loopbackUrl({ host, port })}${PATH}`);
  try {
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    const closed = once(server, "close");
    server.close();
    await open.finished();
    await handler.close();
    server.closeAllConnections();
    await closed;
  }
}

/** The body of a refused request is not read: the connection ends with the answer. */
function refuse(request: IncomingMessage, response: ServerResponse, { status, message, headers = {} }: Refusal): void {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null });
  response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  response.end(body);
  request.resume();
}

/** Why a request is refused. */
interface Refusal {
  status: 401 | 403 | 404;
  message: string;
  headers?: Record<string, string>;
}

type HttpGuard = (request: IncomingMessage) => Refusal | undefined;

/** Decides by the head of a request alone. `Host` and `Origin` come first. */
function createHttpGuard(options: LoopbackPlace & { path: string; token: string }): HttpGuard {
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
