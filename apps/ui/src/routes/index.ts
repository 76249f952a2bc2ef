import type { EventHub } from "../server/event-hub.ts";
import type { Routes } from "../server/answer-request.ts";
import type { UiHost } from "../ui-host.ts";
import { dayRoutes } from "./days.ts";
import { healthRoutes } from "./health.ts";
import { mapRoutes } from "./map.ts";
import { noteRoutes } from "./notes.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./sessions.ts";

/** The routes for signed-in pages. `signal` ends with the server. */
export function createRoutes(host: UiHost, hub: EventHub, signal: AbortSignal): Routes {
  return {
    ...dayRoutes(host),
    ...mapRoutes(host),
    ...searchRoutes(host, hub),
    ...noteRoutes(host),
    ...sessionRoutes(host),
    ...healthRoutes(host, hub, signal),
  };
}
