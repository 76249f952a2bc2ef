import { isoDate, localDay } from "../../text/times/calendar.ts";

/** What was spent on one day for one agent, reason, provider and model. */
export interface UsageEntry {
  /** Local calendar day, `YYYY-MM-DD`. */
  day: string;
  agentId: string;
  /** What the vectors were for: `search`, `watch`, `cli`. */
  reason: string;
  provider: string;
  model: string;
  requests: number;
  tokens: number;
}

export const keptDays = 92;

/** Usage of the last `days`, today included and 92 at most, the oldest first; nothing if it cannot be read. */
export async function readUsage(
  stateDir: string,
  { agentId, days = keptDays }: { agentId?: string | undefined; days?: number | undefined } = {},
): Promise<UsageEntry[]> {
  const { SharedState: State } = await import("./shared-state.ts");
  const state = new State(stateDir);
  try {
    const rows = "SELECT * FROM usage WHERE day >= ? AND agentId = coalesce(?, agentId) ORDER BY 1, 2, 3, 4, 5";
    return state.read((sql) => sql.all<UsageEntry>(rows, dayOf(1 - days), agentId));
  } finally {
    state.close();
  }
}

export function dayOf(offset: number): string {
  return isoDate(localDay(new Date()) + offset);
}
