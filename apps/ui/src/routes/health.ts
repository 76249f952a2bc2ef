import type { Memory, MemoryProviderStatus } from "@memslot/core";
import { readUsage, type UsageEntry } from "@memslot/indexing";
import type { Hono } from "hono";
import type { ActionAnswer, HealthAction, HealthAnswer, UsageDay } from "../api-types.ts";
import { type EventHub, syncInView } from "../server/event-hub.ts";
import { RouteError, refuseReadOnly } from "../server/request-checks.ts";
import type { UiHost } from "../ui-host.ts";

const usageDays = 31;
/** Actions allowed in read-only mode. */
const harmless: ReadonlySet<string> = new Set<HealthAction>(["sync", "check"]);

/** The state of the memory and its actions, one at a time. */
export function serveHealth(app: Hono, host: UiHost, { hub, signal }: { hub: EventHub; signal: AbortSignal }): void {
  const { memory, config } = host;
  const actions = actionsOf(memory, hub, signal);
  let running: string | undefined;

  app.get("/api/health", async (context) => {
    const { signal: left } = context.req.raw;
    const [health, details, entries] = await Promise.all([
      memory.health({ signal: left }),
      memory.details({ signal: left }),
      readUsage(config.stateDir, { days: usageDays, agentId: memory.agentId }),
    ]);
    const usage = usageByDay(entries, memory.status(), details?.price?.usdPerMillionTokens);
    return context.json({ health, usage, details } satisfies HealthAnswer);
  });

  app.post("/api/health/:action", async (context) => {
    const name = context.req.param("action");
    const action = (actions as Partial<Record<string, () => Promise<ActionAnswer>>>)[name];
    if (action === undefined) throw new RouteError(404, "NOT_FOUND", `there is no action ${JSON.stringify(name)}`);
    if (!harmless.has(name)) refuseReadOnly(host);
    if (running !== undefined) throw new RouteError(409, "BUSY", `${running} is not done yet`);
    running = name;
    try {
      return context.json(await action());
    } finally {
      running = undefined;
    }
  });
}

/** Newest day first. */
function usageByDay(
  entries: readonly UsageEntry[],
  { provider, model }: Pick<MemoryProviderStatus, "provider" | "model">,
  usdPerMillionTokens: number | undefined,
): UsageDay[] {
  const days = [...Map.groupBy(entries, ({ day }) => day)].map(([day, own]): UsageDay => {
    const tokens = own.reduce((sum, entry) => sum + entry.tokens, 0);
    const isPriced = own.every((entry) => entry.provider === provider && entry.model === model);
    const usd = isPriced && usdPerMillionTokens !== undefined ? (tokens * usdPerMillionTokens) / 1e6 : undefined;
    return { day, tokens, usd };
  });
  return days.toSorted((a, b) => (a.day < b.day ? 1 : -1));
}

function actionsOf(
  memory: Memory,
  hub: EventHub,
  signal: AbortSignal,
): Record<HealthAction, () => Promise<ActionAnswer>> {
  const sync = async (force: boolean): Promise<ActionAnswer> => ({
    sync: await syncInView(hub, memory, { reason: "the page", force, signal }),
  });
  return {
    sync: () => sync(false),
    force: () => sync(true),
    check: async () => ({ check: await memory.check({ signal }) }),
    fix: async () => ({ check: await memory.check({ fix: true, signal }) }),
    compact: async () => ({ compact: await memory.compact({ signal }) }),
    release: async () => {
      const release = await memory.releaseQuarantine({ signal });
      return { ...(await sync(false)), release };
    },
  };
}
