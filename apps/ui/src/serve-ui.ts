import { once } from "node:events";
import type { Server } from "node:http";
import path from "node:path";
import { localClock } from "@memslot/agent-kit";
import { createHostCheck, createLoopbackServer, listenOn, loopbackUrl } from "@memslot/core/loopback";
import type { Facts } from "./api-types.ts";
import { dayRoutes } from "./routes/days.ts";
import { healthRoutes } from "./routes/health.ts";
import { mapRoutes } from "./routes/map.ts";
import { noteRoutes } from "./routes/notes.ts";
import { answerSearch, searchRoutes } from "./routes/search.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { type Asked, answerRequest } from "./server/answer-request.ts";
import { EventHub } from "./server/event-hub.ts";
import { type LoginOptions, createLogin } from "./server/login.ts";
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
  const page = readPage(options.page ?? path.join(import.meta.dirname, "../dist/page"));
  const server = createLoopbackServer();
  const port = await listenOn(server, { host: address, port: options.port });
  const place = { host: address, port };
  const hub = new EventHub(host.memory);
  const { signedIn, enter } = createLogin(options, port);
  const routes = {
    "POST /api/login": enter,
    "GET /api/facts": () => factsOf(host),
    "GET /api/events": ({ request, response }: Asked) => hub.stream(response, () => signedIn(request)),
    ...dayRoutes(host),
    ...mapRoutes(host),
    ...searchRoutes(host, hub),
    ...noteRoutes(host),
    ...sessionRoutes(host),
    ...healthRoutes(host, hub, signal),
  };
  const answering = { routes, page, signedIn, host, notHere: createHostCheck(place) };
  server.on("request", (request, response) => {
    answerRequest(request, response, answering).catch(() => response.destroy());
  });
  const isEmpty = (host.memory.status().files ?? 0) === 0;
  // The check keeps the process busy: the first view comes before it. A failure is in the status.
  if (host.agent.memorySearch.sync.onSearch !== false || isEmpty)
    hub
      .sync({ reason: "search", wait: false, signal }, isEmpty ? undefined : untilQuiet(server))
      .catch(() => undefined);
  onListening(`${loopbackUrl(place)}/#secret=${options.secret}`);
  // The first search of a process takes three times the processor time of the next: it is made while the browser opens
  // the page. A function word would leave most of it undone.
  if (!isEmpty)
    answerSearch(host.memory, "memory", { keywordsOnly: true, fresh: false, signal }).catch(() => undefined);
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

function factsOf({ memory: { agentId, workspaceDir }, agent: { userTimezone: timeZone }, readOnly }: UiHost): Facts {
  return { agentId, workspaceDir, readOnly, timeZone, today: localClock(timeZone)(new Date()).day };
}

/** Until the answers of a view were sent and no request follows, or no page is opened. */
async function untilQuiet(server: Server): Promise<void> {
  const { promise: quiet, resolve } = Promise.withResolvers<void>();
  let running = 0;
  let wait = quietMs.unanswered;
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    if (running === 0) timer = setTimeout(resolve, wait).unref();
  };
  settle();
  server.on("request", ({ url = "" }, response) => {
    // The stream of events has no end.
    if (url === "/api/events") return;
    running += 1;
    settle();
    response.once("close", () => {
      running -= 1;
      if (/^\/api\/(?!facts|login)/u.test(url) && response.statusCode < 400) wait = quietMs.answered;
      settle();
    });
  });
  await quiet;
}
