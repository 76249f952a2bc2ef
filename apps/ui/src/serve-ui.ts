import { once } from "node:events";
import { getRequestListener } from "@hono/node-server";
import { createHostCheck, createLoopbackServer, listenOn, loopbackUrl } from "@memslot/core/loopback";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { etag } from "hono/etag";
import { pageFolder } from "./page-folder.ts";
import { serveRoutes } from "./routes/index.ts";
import { createEventHub, syncInView } from "./server/event-hub.ts";
import { failed, told, fromThePage, restricted } from "./server/request-checks.ts";
import { type LoginOptions, serveLogin, withoutOldCookies } from "./server/login.ts";
import { readPage, servePage } from "./server/static-files.ts";
import type { UiHost } from "./ui-host.ts";

export interface ServeUiOptions extends LoginOptions {
  host: UiHost;
  /** 0: any free one. */
  port: number;
  /** The folder of the built page; that of this package if left out. */
  page?: string | undefined;
  /** Receives the address with the secret in its fragment, once it can be opened. */
  onListening: (url: string) => void;
  /** Ends the server. */
  signal: AbortSignal;
}

const address = "127.0.0.1";
/** The first page is answered before all files are checked, which keeps the process busy. */
const checkAfterMs = 1000;

export async function serveUi({ host, onListening, signal, ...options }: ServeUiOptions): Promise<void> {
  const built = readPage(options.page ?? pageFolder);
  const server = createLoopbackServer();
  const port = await listenOn(server, { host: address, port: options.port });
  const place = { host: address, port };
  const notHere = createHostCheck(place);
  const hub = createEventHub(() => host.memory.status());

  const app = new Hono();
  const tagged = etag();
  app.use(compress(), restricted, withoutOldCookies);
  app.use("/api/*", fromThePage);
  const signedIn = serveLogin(app, options, port);
  // The stream of events has no end, and no tag.
  app.use("*", (context, next) => (context.req.path === "/api/events" ? next() : tagged(context, next)));
  serveRoutes(app, { host, hub, signedIn, signal });
  app.all("/api/*", (context) => told(context, 404, "NOT_FOUND", `nothing is served at ${context.req.path}`));
  servePage(app, built);
  app.onError((error, context) => failed(context, error));

  const answer = getRequestListener(app.fetch, { hostname: `${address}:${port}` });
  server.on("request", (request, response) => {
    const message = notHere(request);
    if (message === undefined) return void answer(request, response);
    response.writeHead(403, { "content-type": "text/plain", connection: "close" });
    response.end(message);
    request.resume();
  });
  // Pages are answered from the index meanwhile. A failure is in the status.
  if (host.agent.memorySearch.sync.onSearch !== false || (host.memory.status().files ?? 0) === 0)
    syncInView(hub, host.memory, { reason: "search", wait: false, signal }, checkAfterMs).catch(() => undefined);
  onListening(`${loopbackUrl(place)}/#secret=${options.secret}`);
  try {
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    hub.close();
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}
