import type { Hono } from "hono";
import type { EventHub } from "../server/event-hub.ts";
import type { SignedIn } from "../server/login.ts";
import type { UiHost } from "../ui-host.ts";
import { serveEvents } from "./events.ts";
import { serveFacts } from "./facts.ts";
import { serveHealth } from "./health.ts";
import { serveMap } from "./map.ts";
import { serveNotes } from "./notes.ts";
import { serveSearch } from "./search.ts";
import { serveSessions } from "./sessions.ts";
import { serveTime } from "./time.ts";

export interface RouteWorld {
  host: UiHost;
  hub: EventHub;
  signedIn: SignedIn;
  signal: AbortSignal;
}

/** All routes below `/api` for signed-in pages. */
export function serveRoutes(app: Hono, { host, hub, signedIn, signal }: RouteWorld): void {
  serveFacts(app, host);
  serveEvents(app, hub, { signedIn, signal });
  serveSearch(app, host);
  serveNotes(app, host);
  serveTime(app, host);
  serveMap(app, host);
  serveSessions(app, host);
  serveHealth(app, host, { hub, signal });
}
