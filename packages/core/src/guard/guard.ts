import {
  type CheckedSearch,
  checkCheck,
  checkProbe,
  checkRead,
  checkSearch,
  checkSync,
  show,
} from "./call-arguments.ts";
import { abortErrorOf } from "./deadline.ts";
import { type MemoryDeadlines, usualDeadlines } from "./deadlines.ts";
import type { EmbeddingChoice } from "../contract/embedding.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import { createLifecycle } from "../open/lifecycle.ts";
import type { MemorySearchManager, MemorySearchResult, SearchReport, SessionAudience } from "../contract/manager.ts";
import type { MemorySource, SyncReport } from "../contract/status.ts";
import type { Memory, MemorySearchOptions, MemorySyncParams } from "../contract/memory.ts";
import { answerFacts, searchFacts, syncCounts } from "./call-facts.ts";
import { checkManager } from "../plugins/opened.ts";
import { isForEveryone, isPrivateNote } from "./private-notes.ts";
import {
  checkCompactReport,
  checkIndexCheck,
  checkReadResult,
  checkResults,
  checkSyncReport,
  keepResults,
} from "./search-results.ts";
import { type ReportFacts, failureReport, finishReport, reportOf } from "../contract/search-report.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import { createSingleSync } from "./single-sync.ts";
import type { MemoryProviderStatus } from "../contract/status.ts";
import { type Tell, traceCall } from "../debug/trace-call.ts";

export interface CreateMemoryOptions {
  agentId: string;
  workspaceDir: string;
  /** The id of the memory plugin, for messages and reports. */
  backend: string;
  settings: MemorySearchSettings;
  /** The peers of direct chats that are the owner, see `audienceOf`; nobody if left out. */
  ownerAllowFrom?: readonly string[] | undefined;
  /** How the provider was chosen. When it is degraded, every answer says so. */
  embeddings?: EmbeddingChoice | undefined;
  deadlines?: Partial<MemoryDeadlines> | undefined;
  /** Frees what was opened for the manager. Called once, after the manager was closed. */
  onClose?: (() => Promise<void>) | undefined;
}

const hanging = "run `memslot memory status --deep` to see what does not answer";

/**
 * The guard: makes what an application calls of what a plugin wrote. Every promise that has to hold for all backends
 * is kept here, once.
 */
export function createMemory(manager: MemorySearchManager, options: CreateMemoryOptions): Memory {
  const { agentId, workspaceDir, backend, settings, embeddings, ownerAllowFrom = [] } = options;
  checkManager(backend, manager);
  const asker = { agentId, ownerAllowFrom };
  const deadlines = { ...usualDeadlines, ...options.deadlines };
  const lifecycle = createLifecycle(`the memory of agent "${agentId}"`, deadlines.closeMs);
  const singleSync = createSingleSync({
    lifecycle,
    idleMs: deadlines.syncIdleMs,
    sync: async (params) =>
      checkSyncReport(backend, await asPlugin("sync", params.signal, async () => manager.sync?.(params))),
  });
  let lastStatus: MemoryProviderStatus | undefined;

  /** Calls the manager: in time, abortable, and with errors that name the plugin. */
  function ask<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limits = { what, deadlineMs, signals: [signal], action: hanging };
    return lifecycle.run(limits, (inner) => asPlugin(what, inner, () => call(inner)));
  }

  async function asPlugin<T>(what: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (MemoryError.is(error) || signal.aborted) throw error;
      throw new MemoryError("PLUGIN", `memory plugin "${backend}" failed in ${what}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  function status(): MemoryProviderStatus {
    if (lastStatus) return lastStatus;
    try {
      const given = manager.status();
      if (typeof given !== "object" || given === null) throw new TypeError("the plugin gave no status");
      return {
        ...given,
        backend: given.backend ?? backend,
        provider: given.provider ?? "unknown",
        requestedProvider: given.requestedProvider ?? settings.provider,
        workspaceDir: given.workspaceDir ?? workspaceDir,
        sources: given.sources ?? settings.sources,
        fallback: given.fallback ?? embeddings?.fallback,
      };
    } catch (error) {
      const words = messageOf(error);
      return {
        backend,
        provider: "unknown",
        requestedProvider: settings.provider,
        workspaceDir,
        sources: settings.sources,
        lastSyncError: `status failed: ${words}`,
        custom: { error: words },
      };
    }
  }

  function facts(): ReportFacts {
    return { backend, capabilities: manager.capabilities, status: status() };
  }

  function knownSources(): ReadonlySet<MemorySource> {
    return new Set(["memory", "sessions", "journal", ...settings.sources, ...(status().sources ?? [])]);
  }

  /** Nothing found in a source that is not looked at is no answer; the report has to say so. */
  function aboutSources(asked: readonly MemorySource[]): string[] {
    const looked = new Set([...settings.sources, ...(status().sources ?? [])]);
    return asked
      .filter((source) => !looked.has(source))
      .map((source) => `"${source}" is not among memorySearch.sources, so nothing of it is indexed`);
  }

  function assertReadable(path: string, audience: SessionAudience): void {
    if (audience === "private" || isForEveryone(path, workspaceDir)) return;
    if (!isPrivateNote(path, workspaceDir))
      throw new MemoryError(
        "PATH_NOT_ALLOWED",
        `${show(path)} cannot be read in a shared session: it has more than one name (a hard link), and the other one may be a private note; put a copy in its place`,
      );
    throw new MemoryError(
      "PATH_NOT_ALLOWED",
      `${show(path)} cannot be read in a shared session: MEMORY.md, USER.md, memory/ and the journal are private notes, which are read in the owner's own sessions only`,
    );
  }

  /** The answer with its report, whatever the manager reported. */
  async function searched(
    { query, options: checked, notes }: CheckedSearch,
    signal: AbortSignal | undefined,
  ): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
    let given: SearchReport | undefined;
    const onDebug = (report: SearchReport): void => {
      given = report;
    };
    const answer = await ask("search", deadlines.searchMs, signal, (inner) =>
      manager.search(query, { ...checked, signal: inner, onDebug }),
    );
    const found = checkResults(backend, answer);
    const places = { workspaceDir, extraPaths: settings.extraPaths, roots: () => status().roots };
    const kept = keepResults(found, checked, { capabilities: manager.capabilities, places });
    return {
      results: kept.results,
      report: finishReport({ given, facts, found, kept, options: checked, embeddings, notes }),
    };
  }

  async function search(
    query: string,
    given: MemorySearchOptions,
    tell: Tell<"search">,
  ): Promise<MemorySearchResult[]> {
    lifecycle.assertOpen();
    const checked = checkSearch(query, given, { settings, asker, knownSources });
    tell(() => searchFacts(checked));
    if (given.signal?.aborted) throw abortErrorOf(given.signal);
    if (checked.query.trim() === "") {
      const report = reportOf(facts(), checked.options.audience);
      given.onDebug?.({ ...report, state: "ok", reason: "the query is blank" });
      tell(() => ({ results: 0, state: "ok" }));
      return [];
    }
    if (given.sources) checked.notes.push(...aboutSources(checked.options.sources));
    const { results, report } = await searched(checked, given.signal).catch((error: unknown) => {
      // An aborted or closed search was not finished: nobody waits for a report of it.
      if (!isAbort(error) && !MemoryError.is(error, "CLOSED"))
        given.onDebug?.(failureReport(facts(), messageOf(error), checked.options.audience));
      throw error;
    });
    tell(() => answerFacts(results, report));
    given.onDebug?.(report);
    return results;
  }

  async function sync(params: MemorySyncParams, tell: Tell<"sync">): Promise<SyncReport | undefined> {
    lifecycle.assertOpen();
    const checked = checkSync(params);
    tell(() => ({ reason: checked.reason, force: checked.force }));
    if (params.signal?.aborted) throw abortErrorOf(params.signal);
    // A host says that a session starts; whether that is an occasion to sync is the user's setting.
    if (checked.reason === "session-start" && !settings.sync.onSessionStart) return undefined;
    return singleSync(checked, params.signal);
  }

  return {
    agentId,
    workspaceDir,
    ownerAllowFrom,

    async search(query, given = {}) {
      return traceCall(
        "search",
        () => ({ agentId, backend, queryLength: typeof query === "string" ? query.length : 0 }),
        (tell) => search(query, given, tell),
      );
    },

    async readFile(params) {
      lifecycle.assertOpen();
      const checked = checkRead(params, asker);
      assertReadable(checked.relPath, checked.audience);
      const read = checkReadResult(
        backend,
        await ask("readFile", deadlines.readFileMs, params.signal, (signal) =>
          manager.readFile({ ...checked, signal }),
        ),
      );
      // A spelling that only the manager could follow: what it has really read counts.
      assertReadable(read.path, checked.audience);
      return read;
    },

    status,

    async sync(params = {}) {
      return traceCall(
        "sync",
        () => ({ agentId, backend }),
        (tell) => sync(params, tell),
        syncCounts,
      );
    },

    async estimate(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      if (!manager.estimate) return undefined;
      return ask("estimate", deadlines.syncIdleMs, given.signal, async (signal) => manager.estimate?.({ signal }));
    },

    async survey(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      if (!manager.survey) return undefined;
      return ask("survey", deadlines.upkeepMs, given.signal, async (signal) => manager.survey?.({ signal }));
    },

    async check(given = {}) {
      lifecycle.assertOpen();
      const { fix } = checkCheck(given);
      if (!manager.check) return undefined;
      return checkIndexCheck(
        backend,
        await ask("check", deadlines.upkeepMs, given.signal, async (signal) => manager.check?.({ fix, signal })),
      );
    },

    async compact(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      if (!manager.compact) return undefined;
      return checkCompactReport(
        backend,
        await ask("compact", deadlines.upkeepMs, given.signal, async (signal) => manager.compact?.({ signal })),
      );
    },

    async probeEmbeddingAvailability(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      return ask("probeEmbeddingAvailability", deadlines.probeMs, given.signal, (signal) =>
        manager.probeEmbeddingAvailability(signal),
      );
    },

    async probeVectorAvailability(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      return ask("probeVectorAvailability", deadlines.probeMs, given.signal, (signal) =>
        manager.probeVectorAvailability(signal),
      );
    },

    async close() {
      // Recorded before the manager is closed: afterwards it may have nothing to answer from.
      lastStatus ??= status();
      await lifecycle.close([
        { what: `closing memory plugin "${backend}"`, free: async () => manager.close?.() },
        { what: "closing the embedding provider", free: async () => options.onClose?.() },
      ]);
    },
  };
}
