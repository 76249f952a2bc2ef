import { hash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { MemoryError, messageOf } from "../contract/errors.ts";

/** For the head of a request, and for all of it. An answer may take as long as it does. */
const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 100;

export function createLoopbackServer(): Server {
  // An import of all exports would load what `fetch` needs as well.
  const server = process.getBuiltinModule("node:http").createServer({
    headersTimeout: HEAD_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: HEAD_TIMEOUT_MS / 2,
  });
  boundConnections(server);
  return server;
}

/** Listens at a loopback address (port 0: any free port) and returns the port. Throws `UNAVAILABLE`. */
export async function listenOn(server: Server, { host, port }: LoopbackPlace): Promise<number> {
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
  } catch (error) {
    const step = port === 0 ? "" : " Choose another one with --port, or leave it out for any that is free.";
    throw new MemoryError("UNAVAILABLE", `port ${port} of ${host} is not available: ${messageOf(error)}.${step}`, {
      cause: error,
    });
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function boundConnections(server: Server): void {
  const all = new Set<Socket>();
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

export interface LoopbackPlace {
  host: string;
  port: number;
}

/** The address for people: `http://127.0.0.1:7331`. */
export function loopbackUrl({ host, port }: LoopbackPlace): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function createHostCheck(place: LoopbackPlace): (request: IncomingMessage) => string | undefined {
  // Through URL, which leaves the usual port out as a client does.
  const origins = new Set(
    [loopbackUrl(place), loopbackUrl({ ...place, host: "localhost" })].map((url) => new URL(url).origin),
  );
  return ({ headers: { host, origin } }) => {
    if (!origins.has(originOf(`http://${host ?? ""}`) ?? "")) return "this Host is not served";
    if (origin !== undefined && !origins.has(originOf(origin) ?? "")) return "this Origin is not served";
    return undefined;
  };
}

function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.pathname === "/" && url.username === "" && url.search === "" && url.hash === "" ? url.origin : undefined;
}

/** The token of an `Authorization: Bearer` header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/iu.exec(authorization ?? "")?.[1];
}

/** Whether two secrets are the same; the time that it takes says nothing of either. */
export function isSameSecret(given: string, expected: string): boolean {
  // Of one length whatever is compared.
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"));
}
