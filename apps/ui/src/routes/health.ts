import type { MemoryProviderStatus } from "@memslot/core";
import { readUsage, type UsageEntry } from "@memslot/indexing";
import type { ActionAnswer, HealthAction, HealthAnswer, UsageDay } from "../api-types.ts";
import type { EventHub } from "../server/event-hub.ts";
import { RouteError, type Routes } from "../server/answer-request.ts";
import type { UiHost } from "../ui-host.ts";

const usageDays = 31;

/** The state of the memory and its actions, one at a time. `signal` ends with the server: a page may leave. */
export function healthRoutes({ memory, config }: UiHost, hub: EventHub, signal: AbortSignal): Routes {
  const sync = async (force: boolean): Promise<ActionAnswer> => ({
    sync: await hub.sync({ reason: "the page", force, signal }),
  });
  let isRunning = false;
  const actionRoute = (name: HealthAction, action: () => Promise<ActionAnswer>): Routes => ({
    async [`POST /api/health/${name}`]() {
      if (isRunning) throw new RouteError("BUSY", "the action before this one is not done yet: try again when it is");
      isRunning = true;
      return await action().finally(() => (isRunning = false));
    },
  });
  return {
    async "GET /api/health"({ signal: left }) {
      const [health, details, entries] = await Promise.all([
        memory.health({ signal: left }),
        memory.details({ signal: left }),
        readUsage(config.stateDir, { days: usageDays, agentId: memory.agentId }),
      ]);
      const usage = usageByDay(entries, memory.status(), details?.price?.usdPerMillionTokens);
      return { health, usage, details } satisfies HealthAnswer;
    },
    ...actionRoute("sync", () => sync(false)),
    ...actionRoute("force", () => sync(true)),
    ...actionRoute("check", async () => ({ check: await memory.check({ signal }) })),
    ...actionRoute("fix", async () => ({ check: await memory.check({ fix: true, signal }) })),
    ...actionRoute("compact", async () => ({ compact: await memory.compact({ signal }) })),
    ...actionRoute("release", async () => {
      const releaseQuarantine = await memory.releaseQuarantine({ signal });
      return { ...(await sync(false)), releaseQuarantine };
    }),
  };
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
