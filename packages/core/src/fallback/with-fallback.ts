import type { CallsOfManager } from "../contract/calls.ts";
import { callManager, eachIndexCall, signalOf } from "../guard/calls.ts";
import type { BreakerClock } from "./breaker.ts";
import { AskedSpare, type FallbackSpare, labelled } from "./asked-spare.ts";
import { messageOf } from "../contract/errors.ts";
import { createLazyManager } from "../open/lazy-manager.ts";
import type { ManagerSearchOptions, MemorySearchResult } from "../contract/search.ts";
import type { ManagerSyncParams, MemorySearchManager } from "../contract/manager.ts";
import type { SyncReport } from "../contract/status.ts";
import { type Answer, type TriedPrimary, createTriedPrimary, searchWith } from "./tried-primary.ts";

/** The one that is asked first; `name` is the id of its plugin, for messages, reports and status. */
export type FallbackPrimary =
  | { name: string; manager: MemorySearchManager }
  | {
      name: string;
      /** Opens it with the first call, and again with each try after that has failed. */
      open(signal: AbortSignal): Promise<MemorySearchManager>;
      /** Why it could not be opened a moment ago: it is left alone for the first hold-off. */
      failure?: unknown;
    };

export interface FallbackOptions {
  /** How long the primary is left alone after a failure, 30 s. It doubles with every try that fails. */
  holdOffMs?: number | undefined;
  /** The longest hold-off; 10 min. */
  maxHoldOffMs?: number | undefined;
  /** How long a call waits for a primary that is tried again before the spare answers it; 1 s. The try goes on. */
  patienceMs?: number | undefined;
  /** How long the primary may take for a search before the spare is asked; 15 s, half of what the guard allows. */
  searchMs?: number | undefined;
  /** The same for reading a file; 5 s. */
  readFileMs?: number | undefined;
  /** The same for a probe; 30 s. */
  probeMs?: number | undefined;
  /** The same for a sync, from one word of progress to the next; 5 min. */
  syncIdleMs?: number | undefined;
  /** How long opening the spare or the primary may take; 60 s. */
  openMs?: number | undefined;
  /** That of the system where it is left out. */
  clock?: BreakerClock | undefined;
}

const systemClock: BreakerClock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/**
 * One manager made of two. Each call goes to the primary, and only where that is `UNAVAILABLE` to the spare, which is
 * opened then. After a failure the primary is left alone for a while; then one call tries it again, and with the first
 * that works it is back. What the spare answers is reported as `degraded`; what it can do besides the primary is not
 * promised.
 */
export function withFallback(
  primary: FallbackPrimary,
  spare: FallbackSpare,
  options: FallbackOptions = {},
): MemorySearchManager {
  const { patienceMs = 1_000, searchMs = 15_000, readFileMs = 5_000, probeMs = 30_000 } = options;
  const { openMs = 60_000, syncIdleMs = 300_000, clock = systemClock } = options;
  const { holdOffMs = 30_000, maxHoldOffMs = 600_000 } = options;
  const first = createLazyManager({ ...openable(primary), deadlineMs: openMs });
  const second = new AskedSpare(primary.name, spare, openMs);
  const tried = createTriedPrimary({
    name: primary.name,
    manager: first,
    breaker: { holdOffMs, maxHoldOffMs, clock },
    failure: "failure" in primary ? primary.failure : undefined,
    patienceMs,
  });

  async function either<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    run: (manager: MemorySearchManager, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const asked = await tried.ask({ what, deadlineMs, signal, isQuestion: true, onSlow: () => second.prepare(), run });
    return "value" in asked ? asked.value : second.ask(asked.outage, signal, (manager) => run(manager, signal));
  }

  /** The one that answers now; undefined before the first is open. */
  function active(): MemorySearchManager | undefined {
    const [one, other] = [first.current(), second.current()];
    return tried.outage() ? (other ?? one) : (one ?? other);
  }

  return {
    // What is said of an index, or done to it, is about the one that answers: the spare's says nothing of the other.
    ...eachIndexCall<CallsOfManager>((name) => async (...handed) => {
      const manager = active() ?? (await (tried.outage() ? second : first).get(signalOf(name, handed)));
      return callManager(manager, name, handed);
    }),

    /** Those of the primary, and of the spare as long as nobody has seen the primary. */
    get capabilities() {
      const known = first.current() ?? second.current();
      return known?.capabilities ?? { keyword: true, vector: false, ownsIndex: true };
    },

    search: (query, given) => searchEither(tried, second, { query, given, deadlineMs: searchMs }),
    readFile: (params) =>
      either("readFile", readFileMs, params.signal, (manager, signal) => manager.readFile({ ...params, signal })),

    status: () => second.toldIn(active()?.status() ?? { backend: primary.name, provider: "none" }, tried.outage()),

    async sync(params) {
      const open = second.current();
      const known = first.current();
      if (known && !known.sync) return open && second.follow(open, params);
      const own = open ? labelled(params, primary.name) : params;
      const asked = await tried.ask({
        what: "sync",
        deadlineMs: syncIdleMs,
        signal: params.signal,
        isQuestion: false,
        run: (manager, signal, extend) => syncWith(manager, { ...own, signal }, extend),
      });
      if ("outage" in asked) return second.ask(asked.outage, params.signal, async (manager) => manager.sync?.(params));
      const other = second.current();
      if (other) await second.follow(other, params);
      return asked.value;
    },

    probeEmbeddingAvailability: (signal) =>
      either("probeEmbeddingAvailability", probeMs, signal, (manager, inner) =>
        manager.probeEmbeddingAvailability(inner),
      ),
    probeVectorAvailability: (signal) =>
      either("probeVectorAvailability", probeMs, signal, (manager, inner) => manager.probeVectorAvailability(inner)),

    async close() {
      const outcomes = await Promise.allSettled([tried.close(), second.close()]);
      const errors = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
      if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join("; "));
      if (errors.length === 1) throw errors[0];
    },
  };
}

function openable(primary: FallbackPrimary): Omit<Parameters<typeof createLazyManager>[0], "deadlineMs"> {
  if (!("manager" in primary)) return { name: primary.name, open: (signal) => primary.open(signal) };
  const { name, manager } = primary;
  return { name, manager, open: () => Promise.resolve(manager) };
}

/** Where the primary takes long, the spare is asked meanwhile: its answer is there when the primary's time is up. */
async function searchEither(
  primary: TriedPrimary,
  spare: AskedSpare,
  { query, given, deadlineMs }: { query: string; given: ManagerSearchOptions; deadlineMs: number },
): Promise<MemorySearchResult[]> {
  const answered = new AbortController();
  const signal = AbortSignal.any([given.signal, answered.signal]);
  let ahead: Promise<Answer | undefined> | undefined;
  try {
    const asked = await primary.ask({
      what: "search",
      deadlineMs,
      signal: given.signal,
      isQuestion: true,
      onSlow: () => void (ahead = spare.searchAhead(query, { ...given, signal }).catch(() => undefined)),
      run: (manager, inner) => searchWith(manager, query, { ...given, signal: inner }),
    });
    if ("outage" in asked) return await spare.search(asked.outage, query, given, ahead);
    if (asked.value.report) given.onDebug(asked.value.report);
    return asked.value.results;
  } finally {
    answered.abort();
  }
}

/** Each word of progress gives the sync its time anew. */
async function syncWith(
  manager: MemorySearchManager,
  params: ManagerSyncParams,
  extend: () => void,
): Promise<SyncReport | undefined> {
  const progress: ManagerSyncParams["progress"] = (update) => {
    extend();
    params.progress(update);
  };
  return manager.sync?.({ ...params, progress });
}
