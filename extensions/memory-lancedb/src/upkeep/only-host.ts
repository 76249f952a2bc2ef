import { setTimeout as pause } from "node:timers/promises";
import { MemoryError } from "@memslot/core";
import type { LancePlace } from "../place/place.ts";

const askAgainMs = 500;

/**
 * Runs work that only one host at a time does where several share a place. Where another one is at it, gives false and does
 * nothing; with `waitMs` it waits so long for its end, and then throws `BUSY`, naming it.
 */
export type AsOnlyHost = (work: () => Promise<void>, waitMs?: number) => Promise<boolean>;

export function onlyHost({ leases, location }: Pick<LancePlace, "leases" | "location">): AsOnlyHost {
  return async (work, waitMs) => {
    if (!leases) {
      await work();
      return true;
    }
    const started = performance.now();
    while (!(await leases.acquire("compact", "compacting"))) {
      if (waitMs === undefined) return false;
      if (performance.now() - started >= waitMs) {
        const { pid, host, since } = (await leases.holder("compact")) ?? {};
        const who = pid === undefined ? "another host" : `process ${pid} on ${host ?? "another host"}`;
        const time = since === undefined ? "" : ` since ${since}`;
        throw new MemoryError("BUSY", `${who} is compacting the index ${location}${time}; try again when it has ended`);
      }
      await pause(askAgainMs);
    }
    try {
      await work();
      return true;
    } finally {
      // Where the place does not answer it ends by itself.
      await leases.release("compact").catch(() => undefined);
    }
  };
}
