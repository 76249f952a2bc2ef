import { once } from "node:events";
import { createHostCheck, createLoopbackServer, listenOn, loopbackUrl } from "@memslot/core/loopback";
import type { Facts } from "./api-types.ts";
import { pageFolder } from "./page-folder.ts";
import { createRoutes } from "./routes/index.ts";
import { EventHub } from "./server/event-hub.ts";
import { type LoginOptions, createLogin } from "./server/login.ts";
import { type Routes, createRequestListener } from "./server/request-listener.ts";
import { readPage } from "./server/static-files.ts";
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
/** Pauses after the last request before the files are checked: while no view has answers, and when it shows them. */
const quietMs = { unanswered: 10_000, answered: 300 };

export async function serveUi({ host, onListening, signal, ...options }: ServeUiOptions): Promise<void> {
  const page = readPage(options.page ?? pageFolder);
  const server = createLoopbackServer();
  const port = await listenOn(server, { host: address, port: options.port });
  const place = { host: address, port };
  const notHere = createHostCheck(place);
  const hub = new EventHub(host.memory);
  const { signedIn, enter } = createLogin(options, port);
  const { routes, quiet, requested } = untilQuiet(createRoutes(host, hub, signal));
  const answer = createRequestListener({
    routes: {
      "POST /api/login": enter,
      "GET /api/facts": () => factsOf(host),
      "GET /api/events": ({ request, response }) => hub.stream(response, () => signedIn(request)),
      ...routes,
    },
    page,
    signedIn,
  });
  server.on("request", (request, response) => {
    const message = notHere(request);
    if (request.url?.startsWith("/api/") === false) requested();
    if (message === undefined) return void answer(request, response);
    response.writeHead(403, { "content-type": "text/plain", connection: "close" });
    response.end(message);
    request.resume();
  });
  const isEmpty = (host.memory.status().files ?? 0) === 0;
  // The check keeps the process busy: the first view comes before it. A failure is in the status.
  if (host.agent.memorySearch.sync.onSearch !== false || isEmpty)
    hub.sync({ reason: "search", wait: false, signal }, isEmpty ? undefined : quiet).catch(() => undefined);
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

function factsOf({ memory: { agentId, workspaceDir }, agent, version, readOnly }: UiHost): Facts {
  const timeZone = agent.userTimezone;
  const today = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(new Date());
  return { agentId, workspaceDir, version, readOnly, timeZone, today };
}

/** Routes, and when they have answered a view and are quiet, or no page was opened. */
function untilQuiet(routes: Routes): { routes: Routes; quiet: Promise<void>; requested: () => void } {
  const { promise: quiet, resolve } = Promise.withResolvers<void>();
  let running = 0;
  let wait = quietMs.unanswered;
  let timer: NodeJS.Timeout | undefined;
  const requested = (): void => {
    clearTimeout(timer);
    if (running === 0) timer = setTimeout(resolve, wait).unref();
  };
  requested();
  const watched = Object.entries(routes).map(([name, route]): [string, Routes[string]] => [
    name,
    async (asked) => {
      running += 1;
      requested();
      try {
        return await route(asked);
      } finally {
        running -= 1;
        wait = quietMs.answered;
        requested();
      }
    },
  ]);
  return { routes: Object.fromEntries(watched), quiet, requested };
}
