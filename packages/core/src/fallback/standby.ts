import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import { sentenceIn, withConditions } from "../contract/health.ts";
import { sentence } from "../contract/sentences.ts";
import type { ManagerSyncParams, MemorySearchManager } from "../contract/manager.ts";
import type { ManagerSearchOptions, MemorySearchResult } from "../contract/search.ts";
import type { MemoryFallback, MemoryProviderStatus, SyncReport } from "../contract/status.ts";
import { askManager, fallbackForAll, type ManagerAnswer, reportOf } from "../guard/search-answer.ts";
import { type FallbackBackend, type Outage, LazyManager } from "./primary.ts";

/** Answers instead of a primary and reports why. Opened on first use. */
export class Standby extends LazyManager {
  readonly #primary: string;
  #syncError: string | undefined;

  constructor(primary: string, source: FallbackBackend, openMs: number) {
    super(source, openMs);
    this.#primary = primary;
  }

  /** Opens the standby before the primary times out. */
  prepare(): void {
    this.get(this.closing.signal).catch(() => undefined);
  }

  async ask<T>(outage: Outage, signal: AbortSignal, call: (manager: MemorySearchManager) => Promise<T>): Promise<T> {
    try {
      return await call(await this.get(signal));
    } catch (error) {
      if (isAnswer(error)) throw error;
      const message = `"${this.#primary}" is unavailable: ${outage.reason}; and its fallback "${this.name}" failed too: ${messageOf(error)}`;
      throw new MemoryError("UNAVAILABLE", message, { cause: new AggregateError([outage.error, error], message) });
    }
  }

  /** Searches the standby while the primary is slow. Only if its index exists: building one may cost requests. */
  async searchAhead(query: string, given: ManagerSearchOptions): Promise<ManagerAnswer | undefined> {
    const signal = AbortSignal.any([given.signal, this.closing.signal]);
    const manager = await this.get(signal);
    return (manager.status().files ?? 0) === 0 ? undefined : askManager(manager, query, { ...given, signal });
  }

  search(
    outage: Outage,
    query: string,
    options: ManagerSearchOptions,
    ahead: Promise<ManagerAnswer | undefined> | undefined,
  ): Promise<MemorySearchResult[]> {
    return this.ask(outage, options.signal, async (manager) => {
      const { results, report } = (await ahead) ?? (await askManager(manager, query, options));
      const isShared = options.audience === "shared";
      const { capabilities } = manager;
      const reported =
        report ?? reportOf({ backend: this.name, capabilities, status: manager.status() }, options.audience);
      const fallback = this.#fallbackOf(outage);
      const name = sentence("backend.unavailable", { name: this.#primary });
      const why = isShared ? name : sentence("list.named", { name, what: sentenceIn(outage) });
      const marked = withConditions(reported, [{ state: "degraded", ...why }]);
      options.onDebug({ ...marked, fallback: isShared ? fallbackForAll(fallback) : fallback });
      return results;
    });
  }

  /** Keeps the standby in sync with a working primary. Errors appear in the status. */
  async follow(manager: MemorySearchManager, params: ManagerSyncParams): Promise<SyncReport | undefined> {
    try {
      const report = await manager.sync?.(labelled(params, this.name));
      this.#syncError = undefined;
      return report;
    } catch (error) {
      if (params.signal.aborted) throw error;
      this.#syncError = messageOf(error);
      return undefined;
    }
  }

  withStandbyStatus(status: MemoryProviderStatus, outage: Outage | undefined): MemoryProviderStatus {
    const notices = [...(status.custom?.notices ?? [])];
    if (this.#syncError !== undefined)
      notices.push(`the fallback "${this.name}" could not be synced: ${this.#syncError}`);
    return {
      ...status,
      ...(outage && { fallback: this.#fallbackOf(outage) }),
      spare: { backend: this.name, open: this.current !== undefined },
      ...(notices.length > 0 && { custom: { ...status.custom, notices } }),
    };
  }

  #fallbackOf({ error: _error, ...outage }: Outage): MemoryFallback {
    return { from: this.#primary, to: this.name, ...outage };
  }
}

export function labelled(params: ManagerSyncParams, name: string): ManagerSyncParams {
  return {
    ...params,
    progress: (update) =>
      params.progress({ ...update, label: update.label === undefined ? name : `${name}: ${update.label}` }),
  };
}

function isAnswer(error: unknown): boolean {
  const codes = ["INVALID_ARGUMENT", "PATH_NOT_ALLOWED", "WORKSPACE", "BUSY", "CLOSED"];
  return isAbort(error) || (MemoryError.is(error) && codes.includes(error.code));
}
