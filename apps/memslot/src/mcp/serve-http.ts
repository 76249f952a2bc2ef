import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { MemoryError, messageOf } from "@memslot/core";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { type McpServerFactory, createMcpHandler } from "@modelcontextprotocol/server";
import { createOpenRequests } from "./finish-received.ts";
import { type Refusal, createHttpGuard } from "./http-guard.ts";
import type { Socket } from "node:net";

const PATH = "/mcp";
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** For the head of a request, and for all of it. An answer may take as long as its tool. */
const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

export interface ServeHttpOptions {
  factory: McpServerFactory;
  /** A loopback address. */
  host: string;
  /** 0: any free one. */
  port: number;
  token: string;
  notice: (line: string) => void;
  onListening: (url: string) => void;
  /** Ends the server, once what was asked is answered. */
  signal: AbortSignal;
}

/**
 * Serves clients over HTTP until `signal` is aborted. What was asked before is answered, for at most five seconds. Throws
 * `UNAVAILABLE` where the port cannot be had.
 */
export async function serveOverHttp(options: ServeHttpOptions): Promise<void> {
  const { host, signal, notice } = options;
  const onerror = (error: Error): void => notice(`MCP: ${messageOf(error).slice(0, 300)}`);
  const handler = createMcpHandler(options.factory, { onerror, maxRequestBodySize: MAX_BODY_BYTES });
  const convert = toNodeHandler(handler, { onerror, maxRequestBodySize: MAX_BODY_BYTES });
  // Its types know no field that is there and undefined.
  const handle = (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    convert(request as Parameters<typeof convert>[0], response);
  const server = createServer({
    headersTimeout: HEAD_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: HEAD_TIMEOUT_MS / 2,
  });
  boundConnections(server);
  const port = await listen(server, host, options.port);
  const guard = createHttpGuard({ host, port, path: PATH, token: options.token });
  const open = createOpenRequests();
  server.on("request", (request, response) => {
    const refusal = guard(request);
    // A stream that only listens ends with the server.
    if (refusal === undefined && request.method === "POST") {
      open.begin(response);
      response.once("close", () => open.end(response));
    }
    if (refusal !== undefined) refuse(request, response, refusal);
    else void handle(request, response).catch(onerror); // errors of one exchange end that one
  });
  options.onListening(`http://${host.includes(":") ? `[${host}]` : host}:${port}${PATH}`);
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

async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
  } catch (error) {
    const step = port === 0 ? "" : " Choose another one with --port, or leave it out for any that is free.";
    throw new MemoryError("UNAVAILABLE", `port ${port} of ${host} cannot be had: ${messageOf(error)}.${step}`, {
      cause: error,
    });
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** The body of a refused request is not read: the connection ends with the answer. */
function refuse(request: IncomingMessage, response: ServerResponse, { status, message, headers = {} }: Refusal): void {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null });
  response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  response.end(body);
  request.resume();
}

const MAX_CONNECTIONS = 100;

/**
 * Bounds the connections of a server. When there are too many, the one goes that has been without a request for longest,
 * whether it has never said anything or has been answered: who says nothing keeps nobody out.
 */
function boundConnections(server: Server): void {
  const all = new Set<Socket>();
  /** Of those the ones without a request, the one that has waited longest first. */
  const waiting = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    all.add(socket);
    waiting.add(socket);
    socket.once("close", () => {
      all.delete(socket);
      waiting.delete(socket);
    });
    if (all.size <= MAX_CONNECTIONS) return;
    const [longest = socket] = waiting;
    // Its "close" comes later.
    all.delete(longest);
    waiting.delete(longest);
    longest.destroy();
  });
  server.on("request", ({ socket }, response) => {
    waiting.delete(socket);
    response.once("close", () => {
      if (all.has(socket) && !socket.destroyed) waiting.add(socket);
    });
  });
}
