import type { BreakerClock, Outage } from "./breaker.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import { withConditions } from "./conditions.ts";
import { createLazyManager } from "../open/lazy-manager.ts";
import type {
  ManagerSearchOptions,
  ManagerSyncParams,
  MemorySearchManager,
  MemorySearchResult,
  SearchReport,
} from "../contract/manager.ts";
import type { MemoryFallback, SyncReport } from "../contract/status.ts";
import { fallbackForAll, reportOf, unavailableReason } from "../contract/search-report.ts";
import type { MemoryProviderStatus } from "../contract/status.ts";
import { createTriedPrimary } from "./tried-primary.ts";

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

export interface FallbackSpare {
  name: string;
  /** Where it is open already. */
  manager?: MemorySearchManager | undefined;
  /** Called when the spare is needed for the first time. After a failure it is called again with the next need. */
  open(signal: AbortSignal): Promise<MemorySearchManager>;
}

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
  const second = createLazyManager({ ...spare, open: (signal) => spare.open(signal), deadlineMs: openMs });
  const closing = new AbortController();
  const tried = createTriedPrimary({
    name: primary.name,
    manager: first,
    breaker: { holdOffMs, maxHoldOffMs, clock },
    failure: "failure" in primary ? primary.failure : undefined,
    patienceMs,
  });
  let spareSyncError: string | undefined;

  async function askSpare<T>(
    outage: Outage,
    signal: AbortSignal,
    call: (manager: MemorySearchManager) => Promise<T>,
  ): Promise<T> {
    if (closing.signal.aborted)
      throw new MemoryError("CLOSED", `"${primary.name}" with its spare "${spare.name}" is closed`);
    try {
      return await call(await second.get(signal));
    } catch (error) {
      if (isAnswer(error)) throw error;
      const message = `"${primary.name}" is unavailable: ${outage.reason}; and its spare "${spare.name}" failed too: ${messageOf(error)}`;
      throw new MemoryError("UNAVAILABLE", message, { cause: new AggregateError([outage.error, error], message) });
    }
  }

  async function either<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    run: (manager: MemorySearchManager, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    // A spare that has to be opened first is ready then when the primary has used up its time.
    const onSlow = (): unknown => second.get(closing.signal).catch(() => undefined);
    const asked = await tried.ask({ what, deadlineMs, signal, isQuestion: true, onSlow, run });
    return "value" in asked ? asked.value : askSpare(asked.outage, signal, (manager) => run(manager, signal));
  }

  /** Asks the spare what the primary takes long for, where it has an index: making its first one may cost requests. */
  async function askAhead(query: string, given: ManagerSearchOptions): Promise<Answer | undefined> {
    const manager = await second.get(given.signal);
    return (manager.status().files ?? 0) === 0 ? undefined : searchWith(manager, query, given);
  }

  async function searchSpare(
    outage: Outage,
    query: string,
    searchOptions: ManagerSearchOptions,
    ahead: Promise<Answer | undefined> | undefined,
  ): Promise<MemorySearchResult[]> {
    return askSpare(outage, searchOptions.signal, async (manager) => {
      const { results, report } = (await ahead) ?? (await searchWith(manager, query, searchOptions));
      const { audience } = searchOptions;
      const given =
        report ??
        reportOf({ backend: spare.name, capabilities: manager.capabilities, status: manager.status() }, audience);
      const name = unavailableReason(primary.name);
      const reason = audience === "shared" ? name : `${name}: ${outage.reason}`;
      const fallback = fallbackOf(outage);
      const marked = withConditions(given, [{ state: "degraded", reason }]);
      searchOptions.onDebug({ ...marked, fallback: audience === "shared" ? fallbackForAll(fallback) : fallback });
      return results;
    });
  }

  async function syncSpare(manager: MemorySearchManager, params: ManagerSyncParams): Promise<SyncReport | undefined> {
    try {
      const report = await manager.sync?.(labelled(params, spare.name));
      spareSyncError = undefined;
      return report;
    } catch (error) {
      if (params.signal.aborted) throw error;
      // The primary is in sync and answers. What is wrong with the spare stands in the status.
      spareSyncError = messageOf(error);
      return undefined;
    }
  }

  /** The one that answers now; undefined before the first is open. */
  function active(): MemorySearchManager | undefined {
    const [one, other] = [first.current(), second.current()];
    return tried.outage() ? (other ?? one) : (one ?? other);
  }

  const aboutActive = async (signal: AbortSignal): Promise<MemorySearchManager> =>
    active() ?? (await (tried.outage() ? second : first).get(signal));

  function fallbackOf({ reason, since, retryAt }: Outage): MemoryFallback {
    return { from: primary.name, to: spare.name, reason, since, retryAt };
  }

  return {
    /** Those of the primary, and of the spare as long as nobody has seen the primary. */
    get capabilities() {
      const known = first.current() ?? second.current();
      return known?.capabilities ?? { keyword: true, vector: false, ownsIndex: true };
    },

    async search(query, given) {
      const answered = new AbortController();
      const signal = AbortSignal.any([given.signal, closing.signal, answered.signal]);
      let ahead: Promise<Answer | undefined> | undefined;
      try {
        const asked = await tried.ask({
          what: "search",
          deadlineMs: searchMs,
          signal: given.signal,
          isQuestion: true,
          onSlow: () => void (ahead = askAhead(query, { ...given, signal }).catch(() => undefined)),
          run: (manager, inner) => searchWith(manager, query, { ...given, signal: inner }),
        });
        if ("outage" in asked) return await searchSpare(asked.outage, query, given, ahead);
        if (asked.value.report) given.onDebug(asked.value.report);
        return asked.value.results;
      } finally {
        answered.abort();
      }
    },

    readFile: (params) =>
      either("readFile", readFileMs, params.signal, (manager, signal) => manager.readFile({ ...params, signal })),

    status(): MemoryProviderStatus {
      const status = active()?.status() ?? { backend: primary.name, provider: "none" };
      const outage = tried.outage();
      const notices = [...(status.custom?.notices ?? [])];
      if (spareSyncError !== undefined)
        notices.push(`the spare "${spare.name}" could not be synced: ${spareSyncError}`);
      return {
        ...status,
        ...(outage && { fallback: fallbackOf(outage) }),
        spare: { backend: spare.name, open: second.current() !== undefined },
        ...(notices.length > 0 && { custom: { ...status.custom, notices } }),
      };
    },

    async sync(params) {
      const open = second.current();
      const known = first.current();
      if (known && !known.sync) return open && syncSpare(open, params);
      const own = open ? labelled(params, primary.name) : params;
      const asked = await tried.ask({
        what: "sync",
        deadlineMs: syncIdleMs,
        signal: params.signal,
        isQuestion: false,
        run: async (manager, signal, extend) =>
          manager.sync?.({
            ...own,
            signal,
            progress(update) {
              extend();
              own.progress(update);
            },
          }),
      });
      if ("outage" in asked) return askSpare(asked.outage, params.signal, async (manager) => manager.sync?.(params));
      const other = second.current();
      if (other) await syncSpare(other, params);
      return asked.value;
    },

    // What is said of an index, or done to it, is about the one that answers: the spare's says nothing of the other.
    estimate: async (params) => (await aboutActive(params.signal)).estimate?.(params),
    survey: async (params) => (await aboutActive(params.signal)).survey?.(params),
    check: async (params) => (await aboutActive(params.signal)).check?.(params),
    compact: async (params) => (await aboutActive(params.signal)).compact?.(params),

    probeEmbeddingAvailability: (signal) =>
      either("probeEmbeddingAvailability", probeMs, signal, (manager, inner) =>
        manager.probeEmbeddingAvailability(inner),
      ),
    probeVectorAvailability: (signal) =>
      either("probeVectorAvailability", probeMs, signal, (manager, inner) => manager.probeVectorAvailability(inner)),

    async close() {
      closing.abort(new MemoryError("CLOSED", `"${primary.name}" with its spare "${spare.name}" was closed`));
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

/** A search with its report held back: that of a search which fails is not the one that counts. */
interface Answer {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
}

async function searchWith(manager: MemorySearchManager, query: string, options: ManagerSearchOptions): Promise<Answer> {
  let report: SearchReport | undefined;
  const onDebug = (given: SearchReport): void => {
    report = given;
  };
  const results = await manager.search(query, { ...options, onDebug });
  return { results, report };
}

function labelled(params: ManagerSyncParams, name: string): ManagerSyncParams {
  return {
    ...params,
    progress: (update) =>
      params.progress({ ...update, label: update.label === undefined ? name : `${name}: ${update.label}` }),
  };
}

/** True for what says something about the call, not about the manager: the answer of the spare is the answer. */
function isAnswer(error: unknown): boolean {
  return (
    isAbort(error) ||
    ["INVALID_ARGUMENT", "PATH_NOT_ALLOWED", "WORKSPACE", "BUSY", "CLOSED"].some(
      (code) => MemoryError.is(error) && error.code === code,
    )
  );
}
