import type { Memory, SyncFailure } from "@memslot/core";
import { readUsage } from "@memslot/indexing";
import type { Hono } from "hono";
import type { ActionAnswer, HealthAction, HealthAnswer } from "../api/health.ts";
import { type EventHub, toldProgress } from "../server/event-hub.ts";
import { RouteError } from "../server/failure.ts";
import type { UiHost } from "../ui-host.ts";

const usageDays = 31;
/** What only looks, or does what every search may do by itself. */
const harmless: ReadonlySet<string> = new Set<HealthAction>(["sync", "check"]);

/** The state of the memory, and what can be done about it: one thing at a time. */
export function serveHealth(app: Hono, host: UiHost, { hub, signal }: { hub: EventHub; signal: AbortSignal }): void {
  const { memory, config, readOnly } = host;
  const actions = actionsOf(memory, hub, signal);
  let running: string | undefined;

  app.get("/api/health", async (context) => {
    const problems = await problemsOf(memory, context.req.raw.signal);
    const entries = await readUsage(config.stateDir, { days: usageDays, agentId: memory.agentId });
    const days = Map.groupBy(entries, ({ day }) => day);
    const usage = [...days].map(([day, own]) => ({ day, tokens: own.reduce((sum, { tokens }) => sum + tokens, 0) }));
    const answer: HealthAnswer = { problems, usage: usage.toSorted((a, b) => (a.day < b.day ? 1 : -1)) };
    return context.json(answer);
  });

  app.post("/api/health/:action", async (context) => {
    const name = context.req.param("action");
    const action = (actions as Partial<Record<string, () => Promise<ActionAnswer>>>)[name];
    if (action === undefined) throw new RouteError(404, "NOT_FOUND", `there is no action ${JSON.stringify(name)}`);
    if (readOnly && !harmless.has(name))
      throw new RouteError(
        403,
        "FORBIDDEN",
        "this page only looks: start memslot ui without --read-only to change something",
      );
    if (running !== undefined) throw new RouteError(409, "BUSY", `${running} is not done yet`);
    running = name;
    try {
      return context.json(await action());
    } finally {
      running = undefined;
    }
  });
}

/** As the list of files has them, also where the last sync had nothing to do with them; else as far as a look tells. */
async function problemsOf(memory: Memory, signal: AbortSignal): Promise<readonly SyncFailure[]> {
  const list = await memory.listFiles({ signal });
  if (list === undefined) return (await memory.survey({ signal }))?.unread ?? [];
  return list.leftOut.flatMap(({ path, reason, detail = "" }) =>
    reason === "failed" ? [{ path, reason: detail }] : [],
  );
}

function actionsOf(
  memory: Memory,
  hub: EventHub,
  signal: AbortSignal,
): Record<HealthAction, () => Promise<ActionAnswer>> {
  const sync = async (force: boolean): Promise<ActionAnswer> => {
    const { progress, done } = toldProgress(hub);
    try {
      return { sync: await memory.sync({ reason: "the page", force, progress, signal }) };
    } finally {
      done();
    }
  };
  return {
    sync: () => sync(false),
    force: () => sync(true),
    check: async () => ({ check: await memory.check({ signal }) }),
    fix: async () => ({ check: await memory.check({ fix: true, signal }) }),
    compact: async () => ({ compact: await memory.compact({ signal }) }),
  };
}
