import { isoDate, localDay } from "../../text/times/calendar.ts";
import type { Sql } from "../../ledger/sql.ts";
import type { SharedState } from "./shared-state.ts";

/** What was spent on one day for one agent, reason, provider and model. */
export interface UsageEntry {
  /** Local calendar day, `YYYY-MM-DD`. */
  day: string;
  agentId: string;
  /** What the vectors were for: `search`, `watch`, `cli`. */
  reason: string;
  provider: string;
  model: string;
  /** Failed ones are counted too. */
  requests: number;
  tokens: number;
}

type Spent = Omit<UsageEntry, "day" | "agentId">;

const keptDays = 92;

/** Counts what one agent spends on vectors, over all processes. */
export class Usage {
  readonly #state: SharedState;
  readonly #agentId: string;

  constructor(state: SharedState, agentId: string) {
    this.#state = state;
    this.#agentId = agentId;
  }

  /** Why the tokens spent today are unknown; undefined if they are known. */
  fault(): string | undefined {
    return this.#state.fault();
  }

  /** Adds what a request has cost. `day`: what `reserve` returned, if tokens were reserved for it. */
  add(spent: Spent, day?: string): void {
    this.#state.write((sql) => this.#add(sql, day ?? currentDay(sql), spent));
  }

  /**
   * Counts what a request will cost before it is sent. Returns the day it is counted on; undefined if the sum of the day
   * would exceed `limit`, or if it cannot be stored.
   */
  reserve(spent: Spent, limit: number): string | undefined {
    const stored = this.#state.store((sql) => {
      const day = currentDay(sql);
      if (this.#tokensOn(sql, day) + spent.tokens > limit) return undefined;
      this.#add(sql, day, spent);
      return day;
    });
    return stored?.result;
  }

  /** Tokens spent or reserved since midnight, local time, for all reasons. */
  tokensToday(): number {
    return this.#state.read((sql) => this.#tokensOn(sql, currentDay(sql)));
  }

  #tokensOn(sql: Sql, day: string): number {
    const total = "SELECT total(tokens) FROM usage WHERE day = ? AND agentId = ?";
    return sql.value<number>(total, day, this.#agentId) ?? 0;
  }

  #add(sql: Sql, day: string, { reason, provider, model, requests, tokens }: Spent): void {
    const add = `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens`;
    sql.run(add, day, this.#agentId, reason, provider, model, requests, tokens);
    sql.run("DELETE FROM usage WHERE day < ?", dayOf(-keptDays));
  }
}

/**
 * Usage by day, agent, reason, provider and model; the oldest day first, 92 days at most. Nothing if the state cannot be
 * read. `days`: only the last days, today included.
 */
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

/** A request was not sent because the tokens of the day do not suffice. */
export class OverBudget extends Error {
  readonly code = "OVER_BUDGET";
}

/** The tokens that an agent may spend in a day. They are reserved before a request is sent, so that no two processes spend the same. */
export class Budget {
  readonly #usage: Usage;
  readonly #tokensPerDay: number;

  constructor(usage: Usage, tokensPerDay: number) {
    this.#usage = usage;
    this.#tokensPerDay = tokensPerDay;
  }

  /** Tokens that are neither spent nor reserved today; 0 if the count is unknown. */
  left(): number {
    return this.#usage.fault() === undefined ? this.#tokensPerDay - this.#usage.tokensToday() : 0;
  }

  /** Reserves the tokens of a request. Returns the day for `Usage.add`. Throws `OverBudget` if fewer are left. */
  reserve(spent: Spent): string {
    const day = this.#usage.reserve(spent, this.#tokensPerDay);
    if (day === undefined) throw new OverBudget(this.reason());
    return day;
  }

  /** Why no more may be spent. */
  reason(): string {
    const fault = this.#usage.fault();
    return fault === undefined
      ? "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding continues tomorrow, keyword search continues now"
      : `memorySearch.budget.tokensPerDay cannot be enforced, so nothing is sent for embedding: ${fault}`;
  }
}

/** Today. If the clock was set back by a day, the later day continues: its budget is not granted twice. */
function currentDay(sql: Sql): string {
  const [today, tomorrow] = [dayOf(0), dayOf(1)];
  return sql.value("SELECT 1 FROM usage WHERE day = ? LIMIT 1", tomorrow) === undefined ? today : tomorrow;
}

/** A local calendar day, so many days from today. */
function dayOf(offset: number): string {
  return isoDate(localDay(new Date()) + offset);
}
