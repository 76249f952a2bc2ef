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
import { RouteError } from "../server/request-checks.ts";
import { homeOf } from "../notes/home.ts";
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

function serveMap(app: Hono, { memory }: UiHost): void {
  app.get("/api/map", async (context) => {
    const dimensions = Number(context.req.query("dimensions") ?? 2);
    const map = await memory.map({ query: context.req.query("q"), dimensions, signal: context.req.raw.signal });
    return context.json(map ?? null);
  });

  app.get("/api/map/near", async (context) => {
    const [path, startLine] = [context.req.query("path") ?? "", Number(context.req.query("line"))];
    const near = await memory.near({ path, startLine, signal: context.req.raw.signal });
    if (near === undefined)
      throw new RouteError(404, "NOT_FOUND", `no passage begins at ${JSON.stringify(`${path}:${startLine}`)}`);
    return context.json(near);
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
