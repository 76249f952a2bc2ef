import type { MapAnswer } from "../api-types.ts";
import { homeOf } from "../notes/home.ts";
import { daysOf, timeOf } from "../notes/timeline.ts";
import { mapLabels } from "../search/map-labels.ts";
import type { EventHub } from "../server/event-hub.ts";
import { RouteError } from "../server/http-answers.ts";
import type { Routes } from "../server/request-listener.ts";
import type { UiHost } from "../ui-host.ts";
import { changeRoutes } from "./changes.ts";
import { healthRoutes } from "./health.ts";
import { noteRoutes } from "./notes.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./sessions.ts";

/** More than a plane has: the page computes a better layout from them. */
const mapDimensions = 16;

/** The routes for signed-in pages. `signal` ends with the server. */
export function createRoutes(host: UiHost, hub: EventHub, signal: AbortSignal): Routes {
  const { memory } = host;
  return {
    "GET /api/home": ({ signal: left }) => homeOf(host, left),
    "GET /api/time": ({ signal: left }) => timeOf(host, left),
    "GET /api/time/days"({ query: { from = "" }, signal: left }) {
      if (!/^\d{4}-\d{2}-\d{2}$/u.test(from) || Number.isNaN(Date.parse(from)))
        throw new RouteError(400, "INVALID_ARGUMENT", "from must be a day like 2026-03-05");
      return daysOf(host, from, left);
    },
    "GET /api/map": async ({ signal: left }): Promise<MapAnswer | null> => {
      const map = await memory.map({ dimensions: mapDimensions, signal: left });
      const list = await memory.listFiles({ scan: false, signal: left });
      const tagsOf = new Map(list?.files.map(({ path, tags = [] }) => [path, tags]));
      return map === undefined ? null : { ...map, tags: map.notes.map(({ path }) => tagsOf.get(path) ?? []) };
    },
    "POST /api/map/labels"({ body: { groups }, signal: left }) {
      const isGroup = (group: unknown): group is string[] =>
        Array.isArray(group) && group.every((each) => typeof each === "string");
      if (!Array.isArray(groups) || !groups.every(isGroup))
        throw new RouteError(400, "INVALID_ARGUMENT", "groups must be lists of passages such as path:12-20");
      return mapLabels(memory, groups, left);
    },
    ...searchRoutes(host, hub),
    ...noteRoutes(host),
    ...changeRoutes(host),
    ...sessionRoutes(host),
    ...healthRoutes(host, hub, signal),
  };
}
