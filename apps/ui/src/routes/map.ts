import type { Hono } from "hono";
import { RouteError } from "../server/failure.ts";
import type { UiHost } from "../ui-host.ts";

export function serveMap(app: Hono, { memory }: UiHost): void {
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
