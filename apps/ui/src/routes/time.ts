import type { Hono } from "hono";
import { dayOfMemory, timeOf } from "../notes/time-of-memory.ts";
import { RouteError } from "../server/failure.ts";
import type { UiHost } from "../ui-host.ts";

export function serveTime(app: Hono, host: UiHost): void {
  app.get("/api/time", async (context) => context.json(await timeOf(host, context.req.raw.signal)));
  app.get("/api/time/day", async (context) => {
    const day = context.req.query("day") ?? "";
    if (!/^\d{4}-\d{2}-\d{2}$/u.test(day)) throw new RouteError(400, "INVALID_ARGUMENT", "day must be like 2026-03-05");
    return context.json(await dayOfMemory(host, day, context.req.raw.signal));
  });
}
