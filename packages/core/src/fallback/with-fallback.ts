import type { CallsOfManager } from "../contract/calls.ts";
import { messageOf } from "../contract/errors.ts";
import type { ManagerSyncParams, MemorySearchManager } from "../contract/manager.ts";
import { callManager, eachIndexCall, signalOf } from "../guard/call-table.ts";
import { askManager, type ManagerAnswer } from "../guard/search-answer.ts";
import { type MemoryDeadlines, usualDeadlines } from "../guard/deadline.ts";
import { type FallbackBackend, Primary } from "./primary.ts";
import { Standby, labelled } from "./standby.ts";

/** Half of each deadline: primary and standby share the time of one backend, and the caller waits for both. */
export function halfOf(deadlines: MemoryDeadlines): MemoryDeadlines {
  const halves = Object.entries(deadlines).map(([name, ms]: [string, number]) => [name, ms / 2]);
  return Object.fromEntries(halves) as unknown as MemoryDeadlines;
}

/**
 * Calls go to the primary; while it is `UNAVAILABLE`, the standby answers, reported as `degraded`. `deadlines`: of the
 * primary; after them the standby is called. Default: half of `usualDeadlines`, and 60 s for opening.
 */
export function withFallback(
  primary: FallbackBackend,
  standby: FallbackBackend,
  deadlines: Partial<MemoryDeadlines> = {},
): MemorySearchManager {
  const limits = { ...halfOf(usualDeadlines), openMs: usualDeadlines.openMs, ...deadlines };
  const first = new Primary(primary, limits.openMs);
  const second = new Standby(primary.name, standby, limits.openMs);

  async function either<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    run: (manager: MemorySearchManager, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const asked = await first.ask({ what, deadlineMs, signal, onSlow: () => second.prepare(), run });
    return "value" in asked ? asked.value : second.ask(asked.outage, signal, (manager) => run(manager, signal));
  }

  function active(): MemorySearchManager | undefined {
    return first.outage ? (second.current ?? first.current) : (first.current ?? second.current);
  }

  return {
    ...eachIndexCall<CallsOfManager>((name) => async (...handed) => {
      const manager = active() ?? (await (first.outage ? second : first).get(signalOf(name, handed)));
      return callManager(manager, name, handed);
    }),

    /** Capabilities of the primary; before it was opened, those of the standby. */
    get capabilities() {
      const known = first.current ?? second.current;
      return known?.capabilities ?? { keyword: true, vector: false, ownsIndex: true };
    },

    /** If the primary is slow, ask the standby in parallel. */
    async search(query, given) {
      const answered = new AbortController();
      const signal = AbortSignal.any([given.signal, answered.signal]);
      let ahead: Promise<ManagerAnswer | undefined> | undefined;
      try {
        const asked = await first.ask({
          what: "search",
          deadlineMs: limits.searchMs,
          signal: given.signal,
          onSlow: () => void (ahead = second.searchAhead(query, { ...given, signal }).catch(() => undefined)),
          run: (manager, inner) => askManager(manager, query, { ...given, signal: inner }),
        });
        if ("outage" in asked) return await second.search(asked.outage, query, given, ahead);
        if (asked.value.report) given.onDebug(asked.value.report);
        return asked.value.results;
      } finally {
        answered.abort();
      }
    },

    readFile: (params) =>
      either("readFile", limits.readFileMs, params.signal, (manager, signal) =>
        manager.readFile({ ...params, signal }),
      ),

    status: () =>
      second.withStandbyStatus(active()?.status() ?? { backend: primary.name, provider: "none" }, first.outage),

    async sync(params) {
      const open = second.current;
      if (first.current && !first.current.sync) return open && second.follow(open, params);
      const own = open ? labelled(params, primary.name) : params;
      const asked = await first.ask({
        what: "sync",
        deadlineMs: limits.syncIdleMs,
        signal: params.signal,
        run: async (manager, signal, extend) => {
          const progress: ManagerSyncParams["progress"] = (update) => {
            extend();
            own.progress(update);
          };
          return manager.sync?.({ ...own, signal, progress });
        },
      });
      if ("outage" in asked) return second.ask(asked.outage, params.signal, async (manager) => manager.sync?.(params));
      if (second.current) await second.follow(second.current, params);
      return asked.value;
    },

    probeEmbeddingAvailability: (signal) =>
      either("probeEmbeddingAvailability", limits.probeMs, signal, (manager, inner) =>
        manager.probeEmbeddingAvailability(inner),
      ),
    probeVectorAvailability: (signal) =>
      either("probeVectorAvailability", limits.probeMs, signal, (manager, inner) =>
        manager.probeVectorAvailability(inner),
      ),

    async close() {
      const outcomes = await Promise.allSettled([first.close(), second.close()]);
      const errors = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
      if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join("; "));
      if (errors.length === 1) throw errors[0];
    },
  };
}
