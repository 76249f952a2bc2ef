import type { CallsOfMemory } from "../contract/calls.ts";
import { MemoryError, isAbort } from "../contract/errors.ts";
import { healthOf, withReasons } from "../contract/health.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import type { Memory, MemorySyncParams } from "../contract/memory.ts";
import type { MemorySearchOptions, SearchAnswer } from "../contract/search.ts";
import { sentence } from "../contract/sentences.ts";
import type { SyncReport } from "../contract/status.ts";
import type { SearchMessage, SyncMessage } from "../debug/messages.ts";
import { type Tell, traceCall } from "../debug/trace-call.ts";
import { notesLayout } from "../files/notes-layout.ts";
import { checkAnswer, readAnswer, searchAnswer, syncAnswer, flag, optional } from "./runtime-type-checks.ts";
import { type CheckedSearch, checkRead, checkSearch, checkSync } from "./arguments.ts";
import { checkManager, checkOptions, eachIndexCall } from "./call-table.ts";
import { type CreateMemoryOptions, GuardedClient } from "./guarded-client.ts";
import { abortErrorOf } from "./deadline.ts";
import { assertReadable } from "./audience.ts";
import { askManager, failureReport, finishAnswer, reportOf } from "./search-answer.ts";
import { SingleSync } from "./single-sync.ts";

/** Wraps a plugin's manager as the `Memory` of an application. Every guarantee for all backends is implemented here. */
export function createMemory(manager: MemorySearchManager, options: CreateMemoryOptions): Memory {
  const { agentId, workspaceDir, backend, ownerAllowFrom = [] } = options;
  checkManager(backend, manager);
  const client = new GuardedClient(manager, options);
  const { deadlines, lifecycle } = client;
  const singleSync = new SingleSync(lifecycle, deadlines.syncIdleMs, async (params) => {
    const report = await client.asPlugin("sync", params.signal, async () => manager.sync?.(params));
    return report === undefined ? undefined : checkAnswer(backend, "sync", report, syncAnswer);
  });

  async function sync(params: MemorySyncParams, tell: Tell<"sync">): Promise<SyncReport | undefined> {
    lifecycle.assertOpen();
    const { signal } = checkOptions("sync", [params]);
    const checked = checkSync(params);
    tell(() => ({ reason: checked.reason, force: checked.force }));
    if (signal?.aborted) throw abortErrorOf(signal);
    // The user's settings decide whether a session start triggers a sync.
    if (checked.reason === "session-start" && !options.settings.sync.onSessionStart) return undefined;
    return singleSync.run(checked, signal);
  }

  async function probe<Answer>(
    name: "probeEmbeddingAvailability" | "probeVectorAvailability",
    given: readonly unknown[],
    call: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    lifecycle.assertOpen();
    return client.ask(name, deadlines.probeMs, checkOptions(name, given).signal, call);
  }

  const memory: Memory = {
    ...eachIndexCall<CallsOfMemory>(
      (name) =>
        async (...given) =>
          client.askIndex(name, given as never),
    ),
    agentId,
    workspaceDir,
    ownerAllowFrom,
    async ask(query, given = {}) {
      const queryLength = typeof query === "string" ? query.length : 0;
      return traceCall(
        "search",
        () => ({ agentId, backend, queryLength }),
        (tell) => ask(client, { query, given, tell }),
      );
    },
    search: async (query, given) => (await memory.ask(query, given)).results,
    async readFile(params) {
      lifecycle.assertOpen();
      const { signal } = checkOptions("readFile", [params]);
      const checked = checkRead(params, client.searchFacts());
      assertReadable(checked.relPath, checked.audience, client.places());
      const answer = await client.ask("readFile", deadlines.readFileMs, signal, (inner) =>
        manager.readFile({ ...checked, signal: inner }),
      );
      const found = checkAnswer(backend, "readFile", answer, readAnswer);
      // The path that was really read counts.
      assertReadable(found.path, checked.audience, client.places());
      return found;
    },
    status: () => client.status(),
    async sync(params = {}) {
      return traceCall(
        "sync",
        () => ({ agentId, backend }),
        (tell) => sync(params, tell),
        syncCounts,
      );
    },
    async health(given = {}) {
      lifecycle.assertOpen();
      const { signal } = checkOptions("health", [given]);
      const deep = optional(flag, false)("deep", given.deep);
      if (deep) await memory.check({ signal });
      const probed = deep ? await memory.probeEmbeddingAvailability({ signal }) : undefined;
      const survey = await memory.survey({ signal });
      const { layout } = notesLayout(workspaceDir, options.settings.notes);
      return healthOf({ status: client.status(), layout, survey, check: client.checked, probe: probed });
    },
    async check(given) {
      return (client.checked = await client.askIndex("check", [given]));
    },
    probeEmbeddingAvailability: (...given) =>
      probe("probeEmbeddingAvailability", given, (signal) => manager.probeEmbeddingAvailability(signal)),
    probeVectorAvailability: (...given) =>
      probe("probeVectorAvailability", given, (signal) => manager.probeVectorAvailability(signal)),
    close: () => client.close(),
  };
  return memory;
}

async function ask(
  client: GuardedClient,
  { query, given, tell }: { query: string; given: MemorySearchOptions; tell: Tell<"search"> },
): Promise<SearchAnswer> {
  client.lifecycle.assertOpen();
  const { signal } = checkOptions("search", [query, given]);
  const checked = checkSearch(query, given, client.searchFacts());
  const { audience, since, until, order } = checked.options;
  tell(() => askedFacts(checked));
  if (signal?.aborted) throw abortErrorOf(signal);
  if (checked.query.trim() === "" && since === undefined && until === undefined && order === "relevance") {
    const report = withReasons({ ...reportOf(client.facts(), audience), state: "ok" }, [sentence("empty.blank")]);
    given.onDebug?.(report);
    tell(() => ({ results: 0, state: "ok" }));
    return { results: [], report };
  }
  const answer = await searched(client, checked, signal).catch((error: unknown) => {
    // An aborted or closed search was not finished: no caller waits for a report of it.
    if (!isAbort(error) && !MemoryError.is(error, "CLOSED"))
      given.onDebug?.(failureReport(client.facts(), error, audience));
    throw error;
  });
  tell(() => answerFacts(answer));
  given.onDebug?.(answer.report);
  return answer;
}

async function searched(
  client: GuardedClient,
  checked: CheckedSearch,
  signal: AbortSignal | undefined,
): Promise<SearchAnswer> {
  const answer = await client.ask("search", client.deadlines.searchMs, signal, (inner) =>
    askManager(client.manager, checked.query, { ...checked.options, signal: inner }),
  );
  checkAnswer(client.options.backend, "search", answer.results, searchAnswer);
  return finishAnswer(answer, client, checked);
}

// Published counts and settings, without any text.

function askedFacts({ options: { sources, maxResults, audience } }: CheckedSearch): Partial<SearchMessage> {
  return { sources: [...sources], maxResults, audience };
}

function answerFacts({ results, report: { state, legs } }: SearchAnswer): Partial<SearchMessage> {
  const candidates = { keywordCandidates: legs.keyword?.candidates, vectorCandidates: legs.vector?.candidates };
  const counts = Object.entries(candidates).filter(([, found]) => typeof found === "number");
  return { results: results.length, state, ...Object.fromEntries(counts) };
}

function syncCounts(report: SyncReport | undefined): Partial<SyncMessage> {
  if (report === undefined) return {};
  const { added, changed, removed, unchanged, failed, pendingVectors } = report;
  const counts = { added, changed, removed, unchanged, failed: failed.length };
  return pendingVectors === undefined ? counts : { ...counts, pendingVectors: pendingVectors.chunks };
}
