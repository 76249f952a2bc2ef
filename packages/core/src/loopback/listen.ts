import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { Socket } from "node:net";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { LoopbackPlace } from "./served-hosts.ts";

/** For the head of a request, and for all of it. An answer may take as long as it does. */
const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 100;

/** A server that nobody can hold up by saying nothing, not yet listening. */
export function createLoopbackServer(): Server {
  const server = createServer({
    headersTimeout: HEAD_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: HEAD_TIMEOUT_MS / 2,
  });
  boundConnections(server);
  return server;
}

/** Listens at a loopback address, at any free port for 0, and gives the port. Throws `UNAVAILABLE` where it cannot be had. */
export async function listenOn(server: Server, { host, port }: LoopbackPlace): Promise<number> {
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
