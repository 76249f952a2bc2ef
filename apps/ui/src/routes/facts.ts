import type { Hono } from "hono";
import type { Facts } from "../api/facts.ts";
import type { UiHost } from "../ui-host.ts";

export function serveFacts(app: Hono, { memory, agent, version, readOnly }: UiHost): void {
  app.get("/api/facts", (context) => {
    const { agentId, workspaceDir } = memory;
    const timeZone = agent.userTimezone;
    const today = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(new Date());
    return context.json({ agentId, workspaceDir, version, readOnly, timeZone, today } satisfies Facts);
  });
}
