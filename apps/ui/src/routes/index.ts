import type { Hono } from "hono";
import type { EventHub } from "../server/event-hub.ts";
import type { UiHost } from "../ui-host.ts";
import { serveEvents } from "./events.ts";
import { serveFacts } from "./facts.ts";
import { serveNotes } from "./notes.ts";
import { serveTime } from "./time.ts";

export interface RouteWorld {
  host: UiHost;
  hub: EventHub;
  /** Aborts when the server ends. */
  signal: AbortSignal;
}

/** Everything below `/api` that a page that has logged in may ask. */
export function serveRoutes(app: Hono, { host, hub, signal }: RouteWorld): void {
  serveFacts(app, host);
  serveEvents(app, hub, signal);
  serveNotes(app, host);
  serveTime(app, host);
}
