import { messageOf } from "@memslot/core";
import type { FillStop } from "../fill/fill-stop.ts";
import type { Taken, Usage, UsageEntry } from "./usage.ts";

/** Tokens that may be spent in a day. They are taken before they are sent, so that no two processes spend the same. */
export interface Budget {
  /** What is left of today, what is on its way not counted; 0 where it cannot be told. */
  left(): number;
  /** Takes so many tokens for one request. Throws `OverBudget` where they are not to be had. */
  take(spent: Pick<UsageEntry, "reason" | "provider" | "model" | "tokens">): Taken;
  /** Why no more may be spent. */
  stop(): FillStop;
}

/** A request was not sent, as the budget of the day does not reach for it. */
export class OverBudget extends Error {
  readonly code = "OVER_BUDGET";
}

const spent =
  "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding goes on tomorrow, keywords go on now";

export function createBudget(usage: Usage, tokensPerDay: number): Budget {
  /** Tokens of requests that are on their way: whoever sends them counts them by itself. */
  let away = 0;
  let writeFault: string | undefined;

  /** Why the tokens of today cannot be counted, and so none may be spent. */
  function uncounted(): string | undefined {
    const fault = writeFault ?? usage.fault();
    return fault && `memorySearch.budget.tokensPerDay cannot be kept, so that nothing is sent to be embedded: ${fault}`;
  }

  function reason(): string {
    return uncounted() ?? spent;
  }

  return {
    left: () => (uncounted() === undefined ? tokensPerDay - usage.tokensToday() + away : 0),
    take(wanted) {
      let taken: Taken | undefined;
      try {
        taken = uncounted() === undefined ? usage.take(wanted, tokensPerDay) : undefined;
      } catch (error) {
        writeFault = messageOf(error);
      }
      if (taken === undefined) throw new OverBudget(reason());
      const { settle } = taken;
      away += wanted.tokens;
      return {
        settle(tokens) {
          away -= wanted.tokens;
          settle(tokens);
        },
      };
    },
    stop: () => ({ reason: reason() }),
  };
}
