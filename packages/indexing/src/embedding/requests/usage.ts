import type { Sql } from "../../ledger/sql.ts";
import { dayOf, keptDays, type UsageEntry } from "./read-usage.ts";
import type { SharedState } from "./shared-state.ts";

type Spent = Omit<UsageEntry, "day" | "agentId">;

/** Counts what one agent spends on vectors, over all processes. */
export class Usage {
  readonly #state: SharedState;
  readonly #agentId: string;

  constructor(state: SharedState, agentId: string) {
    this.#state = state;
    this.#agentId = agentId;
  }

  /** Why the tokens spent today are unknown. */
  fault(): string | undefined {
    return this.#state.fault();
  }

  add(spent: Spent, day?: string): void {
    this.#state.write((sql) => this.#add(sql, day ?? currentDay(sql), spent));
  }

  /** Reserves tokens and returns their day; undefined above `limit` or if they cannot be stored. */
  reserve(spent: Spent, limit: number): string | undefined {
    const stored = this.#state.store((sql) => {
      const day = currentDay(sql);
      if (this.#tokensOn(sql, day) + spent.tokens > limit) return undefined;
      this.#add(sql, day, spent);
      return day;
    });
    return stored?.result;
  }

  /** Spent or reserved since midnight, local time. */
  tokensToday(): number {
    return this.#state.read((sql) => this.#tokensOn(sql, currentDay(sql)));
  }

  /** The same; undefined if the file cannot be used. */
  storedToday(): number | undefined {
    return this.#state.store((sql) => this.#tokensOn(sql, currentDay(sql)))?.result;
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

export class OverBudget extends Error {
  readonly code = "OVER_BUDGET";
}

/** The tokens of a day, reserved before a request is sent, so that no two processes spend the same. */
export class Budget {
  readonly #usage: Usage;
  readonly #tokensPerDay: number;

  constructor(usage: Usage, tokensPerDay: number) {
    this.#usage = usage;
    this.#tokensPerDay = tokensPerDay;
  }

  /** 0 if the count is unknown. */
  left(): number {
    const spent = this.#usage.storedToday();
    return spent === undefined ? 0 : this.#tokensPerDay - spent;
  }

  /** Returns the day for `Usage.add`. Throws `OverBudget` if fewer tokens are left. */
  reserve(spent: Spent): string {
    const day = this.#usage.reserve(spent, this.#tokensPerDay);
    if (day === undefined) throw new OverBudget(this.reason());
    return day;
  }

  reason(): string {
    const fault = this.#usage.fault();
    return fault === undefined
      ? "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding continues tomorrow, keyword search continues now"
      : `memorySearch.budget.tokensPerDay cannot be enforced, so nothing is sent for embedding: ${fault}`;
  }
}

/** If the clock was set back by a day, the later day continues: its budget is not granted twice. */
function currentDay(sql: Sql): string {
  const [today, tomorrow] = [dayOf(0), dayOf(1)];
  return sql.value("SELECT 1 FROM usage WHERE day = ? LIMIT 1", tomorrow) === undefined ? today : tomorrow;
}
