import type { Sentence } from "@memslot/core";
import { sentence, SentenceError } from "@memslot/core/host";
import type { Sql } from "../../ledger/sql.ts";
import { dayOf, keptDays, type UsageEntry } from "./read-usage.ts";
import type { SharedState } from "./shared-state.ts";

type Spent = Omit<UsageEntry, "day" | "agentId">;

export class OverBudget extends SentenceError {
  readonly code = "OVER_BUDGET";
}

/** Counts what one agent spends on vectors, over all processes, and limits the tokens of a day. */
export class Usage {
  readonly #state: SharedState;
  readonly #agentId: string;
  readonly #tokensPerDay: number;

  constructor(state: SharedState, agentId: string, tokensPerDay: number = Number.POSITIVE_INFINITY) {
    this.#state = state;
    this.#agentId = agentId;
    this.#tokensPerDay = tokensPerDay;
  }

  add(spent: Spent, day?: string): void {
    this.#state.write((sql) => this.#add(sql, day ?? currentDay(sql), spent));
  }

  /** Spent or reserved since midnight, local time. */
  tokensToday(): number {
    return this.#state.read((sql) => this.#tokensOn(sql, currentDay(sql)));
  }

  /** Tokens of today within the budget; 0 if the count cannot be stored. */
  left(): number {
    const spent = this.#state.store((sql) => this.#tokensOn(sql, currentDay(sql)));
    return spent === undefined ? 0 : this.#tokensPerDay - spent.result;
  }

  /**
   * Reserves tokens before a request is sent, so that no two processes spend the same. Returns the day for `add`. Throws
   * `OverBudget` if fewer tokens are left, or if they cannot be stored.
   */
  reserve(spent: Spent): string {
    const day = this.#state.store((sql) => {
      const today = currentDay(sql);
      if (this.#tokensOn(sql, today) + spent.tokens > this.#tokensPerDay) return undefined;
      this.#add(sql, today, spent);
      return today;
    });
    if (day?.result === undefined) throw new OverBudget(this.reason());
    return day.result;
  }

  /** Why no more tokens are reserved. */
  reason(): Sentence {
    const error = this.#state.fault();
    return error === undefined ? sentence("vectors.budget") : sentence("vectors.noBudget", { error });
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

/** If the clock was set back by a day, the later day continues: its budget is not granted twice. */
function currentDay(sql: Sql): string {
  const [today, tomorrow] = [dayOf(0), dayOf(1)];
  return sql.value("SELECT 1 FROM usage WHERE day = ? LIMIT 1", tomorrow) === undefined ? today : tomorrow;
}
