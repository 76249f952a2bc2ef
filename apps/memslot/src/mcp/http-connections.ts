import type { Server } from "node:http";
import type { Socket } from "node:net";

const MAX_CONNECTIONS = 100;

/**
 * Bounds the connections of a server. When there are too many, the one goes that has been without a request for longest,
 * whether it has never said anything or has been answered: who says nothing keeps nobody out.
 */
export function boundConnections(server: Server): void {
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
