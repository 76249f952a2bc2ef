import type { Hono } from "hono";
import type { EventHub } from "../server/event-hub.ts";
import type { SignedIn } from "../server/login.ts";
import type { UiHost } from "../ui-host.ts";
import { serveChanges } from "./changes.ts";
import { serveEvents } from "./events.ts";
import { serveHealth } from "./health.ts";
import { serveNotes } from "./notes.ts";
import { serveSearch } from "./search.ts";
import { serveSessions } from "./sessions.ts";
import type { Facts } from "../api-types.ts";
import { homeOf } from "../notes/home.ts";
import { RouteError, bodyOf } from "../server/request-checks.ts";
import { mapLabels } from "../search/map-labels.ts";
import { dayOfMemory, timeOf } from "../notes/timeline.ts";

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
  serveSearch(app, host, hub);
  serveNotes(app, host);
  serveChanges(app, host);
  app.get("/api/home", async (context) => context.json(await homeOf(host, context.req.raw.signal)));
  serveTime(app, host);
  serveMap(app, host);
  serveSessions(app, host);
  serveHealth(app, host, { hub, signal });
}

function serveFacts(app: Hono, { memory, agent, version, readOnly }: UiHost): void {
  app.get("/api/facts", (context) => {
    const { agentId, workspaceDir } = memory;
    const timeZone = agent.userTimezone;
    const today = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(new Date());
    return context.json({ agentId, workspaceDir, version, readOnly, timeZone, today } satisfies Facts);
  });
}

/** More than a plane has: the page computes a better layout from them. */
const mapDimensions = 16;

function serveMap(app: Hono, { memory }: UiHost): void {
  app.get("/api/map", async (context) => {
    const map = await memory.map({ dimensions: mapDimensions, signal: context.req.raw.signal });
    return context.json(map ?? null);
  });

  app.post("/api/map/labels", async (context) => {
    const { groups } = await bodyOf(context);
    const isGroup = (group: unknown): group is string[] =>
      Array.isArray(group) && group.every((each) => typeof each === "string");
    if (!Array.isArray(groups) || !groups.every(isGroup))
      throw new RouteError(400, "INVALID_ARGUMENT", "groups must be lists of passages such as path:12-20");
    return context.json(await mapLabels(memory, groups, context.req.raw.signal));
  });
}

function serveTime(app: Hono, host: UiHost): void {
  app.get("/api/time", async (context) => context.json(await timeOf(host, context.req.raw.signal)));
  app.get("/api/time/day", async (context) => {
    const day = context.req.query("day") ?? "";
    if (!/^\d{4}-\d{2}-\d{2}$/u.test(day)) throw new RouteError(400, "INVALID_ARGUMENT", "day must be like 2026-03-05");
    return context.json(await dayOfMemory(host, day, context.req.raw.signal));
  });
}
