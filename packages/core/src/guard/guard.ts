import { AskedManager, type CreateMemoryOptions } from "./asked-manager.ts";
import {
  type Asker,
  type CheckedSearch,
  checkDescribe,
  checkFlag,
  checkListing,
  checkMap,
  checkNear,
  checkProbe,
  checkRead,
  checkSearch,
  checkSync,
  checkWhyTarget,
} from "./call-arguments.ts";
import { abortErrorOf } from "./deadline.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import type {
  AvailabilityProbe,
  MemoryReadResult,
  MemorySearchManager,
  MemorySearchResult,
} from "../contract/manager.ts";
import type { SearchReport } from "../contract/report.ts";
import type { SyncReport } from "../contract/status.ts";
import type { Memory, MemorySearchOptions, MemorySyncParams } from "../contract/memory.ts";
import { answerFacts, searchFacts, syncCounts } from "./call-facts.ts";
import { checkManager } from "../plugins/opened.ts";
import { assertReadable } from "./private-notes.ts";
import type { NotePlaces } from "./result-places.ts";
import { checkAnswer, checkReadResult, checkResults, keepResults } from "./search-results.ts";
import { notesLayout } from "../files/notes-layout.ts";
import { healthOf } from "../contract/health.ts";
import { type ReportFacts, failureReport, finishReport, reportOf } from "../contract/search-report.ts";
import { createSingleSync } from "./single-sync.ts";
import { type Tell, traceCall } from "../debug/trace-call.ts";

/**
 * The guard: makes what an application calls of what a plugin wrote. Every promise that has to hold for all backends
 * is kept here, once.
 */
export function createMemory(manager: MemorySearchManager, options: CreateMemoryOptions): Memory {
  const { agentId, workspaceDir, backend, ownerAllowFrom = [] } = options;
  checkManager(backend, manager);
  const asker = { agentId, ownerAllowFrom };
  const asked = new AskedManager(manager, options);
  const { deadlines, lifecycle } = asked;
  const singleSync = createSingleSync({
    lifecycle,
    idleMs: deadlines.syncIdleMs,
    sync: async (params) => {
      const report = await asked.asPlugin("sync", params.signal, async () => manager.sync?.(params));
      return checkAnswer(backend, "sync", report, "a report or nothing");
    },
  });

  async function sync(params: MemorySyncParams, tell: Tell<"sync">): Promise<SyncReport | undefined> {
    lifecycle.assertOpen();
    const checked = checkSync(params);
    tell(() => ({ reason: checked.reason, force: checked.force }));
    if (params.signal?.aborted) throw abortErrorOf(params.signal);
    // A host says that a session starts; whether that is an occasion to sync is the user's setting.
    if (checked.reason === "session-start" && !options.settings.sync.onSessionStart) return undefined;
    return singleSync(checked, params.signal);
  }

  const memory: Memory = {
    agentId,
    workspaceDir,
    ownerAllowFrom,
    async search(query, given = {}) {
      const queryLength = typeof query === "string" ? query.length : 0;
      return traceCall(
        "search",
        () => ({ agentId, backend, queryLength }),
        (tell) => search(asked, asker, { query, given, tell }),
      );
    },
    async readFile(params) {
      lifecycle.assertOpen();
      const checked = checkRead(params, asker);
      assertReadable(checked.relPath, checked.audience, placesOf(asked));
      const read = (signal: AbortSignal): Promise<MemoryReadResult> => manager.readFile({ ...checked, signal });
      const found = checkReadResult(backend, await asked.ask("readFile", deadlines.readFileMs, params.signal, read));
      // A spelling that only the manager could follow: what it has really read counts.
      assertReadable(found.path, checked.audience, placesOf(asked));
      return found;
    },
    status: () => asked.status(),
    async sync(params = {}) {
      return traceCall(
        "sync",
        () => ({ agentId, backend }),
        (tell) => sync(params, tell),
        syncCounts,
      );
    },
    estimate: (given = {}) =>
      asked.askIfAble("estimate", deadlines.syncIdleMs, given, (signal) => manager.estimate?.({ signal })),
    survey: (given = {}) =>
      asked.askIfAble("survey", deadlines.upkeepMs, given, (signal) => manager.survey?.({ signal })),
    async health(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      const { signal } = given;
      const deep = checkFlag("deep", given.deep);
      if (deep) await memory.check({ signal });
      const probe = deep ? await memory.probeEmbeddingAvailability({ signal }) : undefined;
      const survey = await memory.survey({ signal });
      const { layout } = notesLayout(workspaceDir, options.settings.notes);
      return healthOf({ status: asked.status(), layout, survey, check: asked.checked, probe });
    },
    async listFiles(given = {}) {
      lifecycle.assertOpen();
      const limit = checkListing(given);
      return asked.askIfAble("listFiles", deadlines.upkeepMs, given, (signal) =>
        manager.listFiles?.({ limit, signal }),
      );
    },
    async describeFile(params) {
      lifecycle.assertOpen();
      const relPath = checkDescribe(params);
      return asked.askIfAble("describeFile", deadlines.upkeepMs, params, (signal) =>
        manager.describeFile?.({ relPath, signal }),
      );
    },
    async why(query, target, given = {}) {
      lifecycle.assertOpen();
      const checked = checkSearch(query, given, {
        settings: options.settings,
        asker,
        lookedAt: () => asked.lookedAt(),
      });
      const wanted = checkWhyTarget(target);
      if (checked.options.audience === "shared")
        throw new MemoryError("INVALID_ARGUMENT", "why a note is not found is told to the owner alone");
      return asked.askIfAble("why", deadlines.searchMs, { signal: given.signal }, (signal) =>
        manager.why?.(checked.query, wanted, { ...checked.options, signal, onDebug: () => undefined }),
      );
    },
    async check(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      const fix = checkFlag("fix", given.fix);
      const check = asked.askIfAble("check", deadlines.upkeepMs, given, (signal) => manager.check?.({ fix, signal }));
      return (asked.checked = await check);
    },
    compact: (given = {}) =>
      asked.askIfAble("compact", deadlines.upkeepMs, given, (signal) => manager.compact?.({ signal })),
    details: (given = {}) =>
      asked.askIfAble("details", deadlines.upkeepMs, given, (signal) => manager.details?.({ signal })),
    async map(given = {}) {
      const params = checkMap(given);
      return asked.askIfAble("map", deadlines.upkeepMs, given, (signal) => manager.map?.({ ...params, signal }));
    },
    async near(given) {
      const params = checkNear(given);
      return asked.askIfAble("near", deadlines.searchMs, given, (signal) => manager.near?.({ ...params, signal }));
    },
    releaseQuarantine: (given = {}) =>
      asked.askIfAble("releaseQuarantine", deadlines.upkeepMs, given, (signal) =>
        manager.releaseQuarantine?.({ signal }),
      ),
    async probeEmbeddingAvailability(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      const probe = (signal: AbortSignal): Promise<AvailabilityProbe> => manager.probeEmbeddingAvailability(signal);
      return asked.ask("probeEmbeddingAvailability", deadlines.probeMs, given.signal, probe);
    },
    async probeVectorAvailability(given = {}) {
      lifecycle.assertOpen();
      checkProbe(given);
      const probe = (signal: AbortSignal): Promise<boolean> => manager.probeVectorAvailability(signal);
      return asked.ask("probeVectorAvailability", deadlines.probeMs, given.signal, probe);
    },
    close: () => asked.close(),
  };
  return memory;
}

async function search(
  asked: AskedManager,
  asker: Asker,
  { query, given, tell }: { query: string; given: MemorySearchOptions; tell: Tell<"search"> },
): Promise<MemorySearchResult[]> {
  asked.lifecycle.assertOpen();
  const checked = checkSearch(query, given, {
    settings: asked.options.settings,
    asker,
    lookedAt: () => asked.lookedAt(),
  });
  const { audience } = checked.options;
  tell(() => searchFacts(checked));
  if (given.signal?.aborted) throw abortErrorOf(given.signal);
  const { since, until, order } = checked.options;
  if (checked.query.trim() === "" && since === undefined && until === undefined && order === "relevance") {
    given.onDebug?.({ ...reportOf(asked.facts(), audience), state: "ok", reason: "the query is blank" });
    tell(() => ({ results: 0, state: "ok" }));
    return [];
  }
  const { results, report } = await searched(asked, checked, given.signal).catch((error: unknown) => {
    // An aborted or closed search was not finished: nobody waits for a report of it.
    if (!isAbort(error) && !MemoryError.is(error, "CLOSED"))
      given.onDebug?.(failureReport(asked.facts(), messageOf(error), audience));
    throw error;
  });
  tell(() => answerFacts(results, report));
  given.onDebug?.(report);
  return results;
}

/** The answer with its report, whatever the manager reported. */
async function searched(
  asked: AskedManager,
  { query, options, notes }: CheckedSearch,
  signal: AbortSignal | undefined,
): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
  const { manager } = asked;
  const { backend, embeddings, rerank } = asked.options;
  let given: SearchReport | undefined;
  const onDebug = (report: SearchReport): void => {
    given = report;
  };
  const answer = await asked.ask("search", asked.deadlines.searchMs, signal, (inner) =>
    manager.search(query, { ...options, signal: inner, onDebug }),
  );
  const found = checkResults(backend, answer);
  const order = given?.filters?.order ?? "relevance";
  const places = placesOf(asked);
  const kept = keepResults(found, options, { capabilities: manager.capabilities, places, order });
  const facts = (): ReportFacts => asked.facts();
  const report = finishReport({ given, facts, found, kept, options, embeddings, rerank, notes });
  return { results: kept.results, report };
}

function placesOf(asked: AskedManager): NotePlaces {
  const { workspaceDir, settings } = asked.options;
  return { workspaceDir, extraPaths: settings.extraPaths, notes: settings.notes, roots: () => asked.status().roots };
}
