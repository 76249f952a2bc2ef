import { openWithDeadline, withDeadline } from "./deadline.ts";
import { MemoryError, isAbort, messageOf } from "./errors.ts";
import type {
  ManagerSearchOptions,
  ManagerSyncParams,
  MemoryFallback,
  MemorySearchManager,
  MemorySearchResult,
  SearchReport,
  SyncReport,
} from "./manager.ts";
import { reportOf } from "./search-report.ts";
import type { MemoryProviderStatus } from "./status.ts";

export interface FallbackPrimary {
  /** The id of its plugin, for messages, reports and status. */
  name: string;
  manager: MemorySearchManager;
}

export interface FallbackSpare {
  name: string;
  /** Called when the spare is needed for the first time. After a failure it is called again with the next need. */
  open(): Promise<MemorySearchManager>;
}

export interface FallbackOptions {
  /** How long the primary is left alone after a failure; 30 s. */
  holdOffMs?: number | undefined;
  /** How long the primary may take for a search before the spare is asked; 15 s, half of what the guard allows. */
  searchMs?: number | undefined;
  /** The same for reading a file; 5 s. */
  readFileMs?: number | undefined;
  /** The same for a probe; 30 s. */
  probeMs?: number | undefined;
  /** How long opening the spare may take; 60 s. */
  openMs?: number | undefined;
}

interface Failure {
  readonly reason: string;
  readonly error: unknown;
  /** By the clock of `performance.now()`. */
  retryAt: number;
}

/**
 * One manager made of two. Each call goes to the primary, and only where that is `UNAVAILABLE` to the spare, which is
 * opened then. After a failure the primary is left alone for a while, and then tried again. What the spare answers is
 * reported as `degraded`; what it can do besides the primary is not promised.
 */
export function withFallback(
  primary: FallbackPrimary,
  spare: FallbackSpare,
  options: FallbackOptions = {},
): MemorySearchManager {
  const { holdOffMs = 30_000, searchMs = 15_000, readFileMs = 5_000, probeMs = 30_000, openMs = 60_000 } = options;
  let failure: Failure | undefined;
  let opening: Promise<MemorySearchManager> | undefined;
  let opened: MemorySearchManager | undefined;
  let spareSyncError: string | undefined;
  let closed = false;

  /** The answer of the primary, or why there is none. */
  async function askPrimary<T>(
    what: string,
    deadlineMs: number | undefined,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ value: T } | { failure: Failure }> {
    const before = failure;
    if (before && performance.now() < before.retryAt) return { failure: before };
    // One call tries whether it is back; the others go on to the spare meanwhile.
    if (before) before.retryAt = performance.now() + holdOffMs;
    try {
      const value = await withDeadline({ what: `${what} of "${primary.name}"`, deadlineMs, signals: [signal] }, call);
      if (failure === before) failure = undefined;
      return { value };
    } catch (error) {
      if (!MemoryError.is(error, "UNAVAILABLE")) {
        // It says nothing about the primary, so the next call may try.
        if (before) before.retryAt = 0;
        throw error;
      }
      failure = { reason: messageOf(error), error, retryAt: performance.now() + holdOffMs };
      return { failure };
    }
  }

  async function askSpare<T>(failed: Failure, call: (manager: MemorySearchManager) => Promise<T>): Promise<T> {
    try {
      return await call(await openSpare());
    } catch (error) {
      if (isAnswer(error)) throw error;
      const message = `"${primary.name}" is unavailable: ${failed.reason}; and its spare "${spare.name}" failed too: ${messageOf(error)}`;
      throw new MemoryError("UNAVAILABLE", message, { cause: new AggregateError([failed.error, error], message) });
    }
  }

  function openSpare(): Promise<MemorySearchManager> {
    if (closed) throw new MemoryError("CLOSED", `"${primary.name}" with its spare "${spare.name}" is closed`);
    opening ??= openWithDeadline({ what: `opening "${spare.name}"`, deadlineMs: openMs }, () => spare.open()).then(
      (manager) => {
        opened = manager;
        return manager;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }

  async function either<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    call: (manager: MemorySearchManager, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const asked = await askPrimary(what, deadlineMs, signal, (inner) => call(primary.manager, inner));
    return "value" in asked ? asked.value : askSpare(asked.failure, (manager) => call(manager, signal));
  }

  async function searchSpare(
    failed: Failure,
    query: string,
    searchOptions: ManagerSearchOptions,
  ): Promise<MemorySearchResult[]> {
    return askSpare(failed, async (manager) => {
      const { results, report } = await searchWith(manager, query, searchOptions);
      const given =
        report ?? reportOf({ backend: spare.name, capabilities: manager.capabilities, status: manager.status() });
      const reasons = [`"${primary.name}" is unavailable: ${failed.reason}`, given.reason];
      searchOptions.onDebug({
        ...given,
        state: given.state === "unavailable" ? "unavailable" : "degraded",
        reason: reasons.filter((reason) => reason !== undefined).join("; "),
        fallback: fallbackOf(failed),
      });
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

  /** The one that answers now. */
  function active(): MemorySearchManager {
    return failure && opened ? opened : primary.manager;
  }

  function fallbackOf({ reason }: Failure): MemoryFallback {
    return { from: primary.name, to: spare.name, reason };
  }

  return {
    capabilities: primary.manager.capabilities,

    async search(query, searchOptions) {
      const asked = await askPrimary("search", searchMs, searchOptions.signal, (signal) =>
        searchWith(primary.manager, query, { ...searchOptions, signal }),
      );
      if ("failure" in asked) return searchSpare(asked.failure, query, searchOptions);
      if (asked.value.report) searchOptions.onDebug(asked.value.report);
      return asked.value.results;
    },

    readFile: (params) =>
      either("readFile", readFileMs, params.signal, (manager, signal) => manager.readFile({ ...params, signal })),

    status(): MemoryProviderStatus {
      const status = failure ? { ...active().status(), fallback: fallbackOf(failure) } : active().status();
      if (spareSyncError === undefined) return status;
      const notice = `the spare "${spare.name}" could not be synced: ${spareSyncError}`;
      return { ...status, custom: { ...status.custom, notices: [...(status.custom?.notices ?? []), notice] } };
    },

    async sync(params) {
      const { manager } = primary;
      if (!manager.sync) return opened && syncSpare(opened, params);
      const asked = await askPrimary("sync", undefined, params.signal, async (signal) =>
        manager.sync?.(opened ? labelled({ ...params, signal }, primary.name) : { ...params, signal }),
      );
      if ("failure" in asked) return askSpare(asked.failure, async (other) => other.sync?.(params));
      if (opened) await syncSpare(opened, params);
      return asked.value;
    },

    // What is said of an index, or done to it, is about the one that answers: the spare's says nothing of the other.
    estimate: async (params) => active().estimate?.(params),
    check: async (params) => active().check?.(params),
    compact: async (params) => active().compact?.(params),

    probeEmbeddingAvailability: (signal) =>
      either("probeEmbeddingAvailability", probeMs, signal, (manager, inner) =>
        manager.probeEmbeddingAvailability(inner),
      ),
    probeVectorAvailability: (signal) =>
      either("probeVectorAvailability", probeMs, signal, (manager, inner) => manager.probeVectorAvailability(inner)),

    async close() {
      closed = true;
      const closePrimary = async (): Promise<void> => primary.manager.close?.();
      // A spare that never opened has nothing to close.
      const closeSpare = async (): Promise<void> => (await opening?.catch(() => undefined))?.close?.();
      const outcomes = await Promise.allSettled([closePrimary(), closeSpare()]);
      const errors = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
      if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join("; "));
      if (errors.length === 1) throw errors[0];
    },
  };
}

/** A search with its report held back: that of a search which fails is not the one that counts. */
async function searchWith(
  manager: MemorySearchManager,
  query: string,
  options: ManagerSearchOptions,
): Promise<{ results: MemorySearchResult[]; report: SearchReport | undefined }> {
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
