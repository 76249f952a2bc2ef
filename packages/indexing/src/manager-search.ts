import {
  acceptNotes,
  describeExcluded,
  type EmbeddingChoice,
  type ExcludedNotes,
  isPoor,
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemorySearchManager,
  type MemorySource,
  type SearchCondition,
  type SearchReport,
  namedNotes,
  noNotes,
  withConditions,
} from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import type { ChunkIndex } from "./chunk-index.ts";
import { projectScopes } from "./sources/agents/agent-source.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { type UnsearchedCounter, withUnsearched } from "./files/unsearched.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { journalFolder, journalOfTranscript } from "./sources/folders.ts";
import { createCheckedSearch, searchAhead } from "./search/checked-search.ts";
import { placesOf, type SearchInput, type SearchOutcome } from "./search/search-outcome.ts";
import { type AskedQuery, askedQuery, isFiltered } from "./search/query/asked-query.ts";
import { findFiltered, searchFiltered } from "./search/query/filtered-search.ts";
import { searchChunks } from "./search/search.ts";
import { LanguageMemory } from "./search/words/word-source.ts";
import { sessionScope, type SourceScope } from "./search/session-scope.ts";
import { conditionForAll, withMissingWithin } from "./search/shared-report.ts";
import { createSessionLookup } from "./sources/sessions.ts";
import type { RerankStage } from "./rerank/rerank-stage.ts";
import type { IndexFacts } from "./sync/index-facts.ts";
import type { IndexSync } from "./sync/index-sync.ts";
import { excludedIn, withoutUnread } from "./sync/excluded.ts";

/** `search` of a manager, which tells besides what has led to its answer. */
type TracedSearch = (
  query: string,
  options: ManagerSearchOptions,
  trace?: SearchInput["trace"],
) => ReturnType<MemorySearchManager["search"]>;

interface SearchParts {
  context: MemoryPluginContext;
  backend: string;
  store: ChunkIndex;
  sources: readonly IndexedSource[];
  index: IndexSync;
  vectors: Embedder | undefined;
  embeddings: EmbeddingChoice;
  unsearched: UnsearchedCounter;
  rerank: RerankStage | undefined;
  /** Finds in place of the index. */
  find: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
}

/** A question as it was read when it was asked. */
interface Question {
  query: string;
  asked: AskedQuery;
  now: Date;
}

/** How a manager searches: in files that are up to date, with all said that the answer does not tell itself. */
export function createManagerSearch(parts: SearchParts): TracedSearch {
  const whole = searchWith(parts);
  // The query reaches no provider.
  const byKeywords = searchWith({ ...parts, vectors: undefined, rerank: undefined });
  return (query, options, trace) => (options.keywordsOnly === true ? byKeywords : whole)(query, options, trace);
}

function searchWith(parts: SearchParts): TracedSearch {
  const { backend, store, index, vectors, unsearched, find, rerank } = parts;
  const { agentId, stateDir, settings, workspaceDir } = parts.context;
  const hasSessions = settings.sources.some((source) => source === "sessions" || source === "journal");
  const transcripts = hasSessions ? createSessionLookup({ stateDir, agentId }) : undefined;
  const journal = journalFolder({ stateDir, agentId });
  const hasProjects = parts.sources.some(({ scopeIn }) => scopeIn !== undefined);
  const languages = new LanguageMemory();
  const checked = createCheckedSearch({ store, sources: parts.sources, reread: index.reread });

  async function scopeOf({ sessionKey, audience, signal }: ManagerSearchOptions): Promise<SourceScope> {
    const projects = await projectScopes(parts.sources, audience, () => index.stored());
    const own = await sessionScope({
      sessionKey,
      audience,
      agentId,
      workspaceDir,
      settings,
      signal,
      transcriptOf: async (key) => await transcripts?.(key),
      journalOf: (transcript) => journalOfTranscript(journal, transcript),
    });
    return (source) => projects.get(source) ?? own(source);
  }

  async function answerTo(
    { query, asked, now }: Question,
    options: ManagerSearchOptions,
    allowed: SourceScope,
    revision: string | undefined,
    trace: SearchInput["trace"],
  ): Promise<SearchOutcome> {
    const { sources, stats } = index.facts();
    const scope = withoutUnread(allowed, sources);
    const days: SearchInput["days"] = (places) => index.days(places);
    const known = { scope, now, days, languages, chunks: stats.chunks, revision };
    const question: SearchInput = { settings, backend, query, options, ...known, trace };
    // Without a chunk there is nothing to compare with. Others who read along are not to learn whether there is one.
    const embedder = options.audience === "shared" || stats.chunks > 0 ? vectors : undefined;
    const outcome = isFiltered(asked)
      ? await (find
          ? findFiltered({ ...question, asked }, find)
          : searchFiltered({ ...question, asked, store, vectors: embedder, rerank }))
      : await (find?.(question) ?? searchChunks({ ...question, store, vectors: embedder, rerank }));
    if (options.audience !== "shared" || !vectors || vectors.facts().missing === 0) return outcome;
    return await withMissingWithin(outcome, { store, vectors, places: placesOf(options, scope) });
  }

  return async (query, options, trace) => {
    const now = new Date();
    const question: Question = { query, asked: askedQuery(query, options, now), now };
    vectors?.warm();
    if (!find) rerank?.warm();
    const before = await scopeOf(options);
    // A backend's own search, and what is paid for a question, are asked once and not ahead.
    const ahead =
      vectors || find || rerank
        ? undefined
        : searchAhead(store, (revision) => answerTo(question, options, before, revision, trace));
    const known = unreadIn(index.facts());
    const unfresh = await index.freshen(options.signal);
    // What has come meanwhile may be of this project.
    const scope = hasProjects ? await scopeOf(options) : before;
    const first = async (): Promise<SearchOutcome | undefined> =>
      unreadIn(index.facts()) === known ? await ahead?.() : undefined;
    const outcome = await checked({
      first: async () => (await first()) ?? (await answerTo(question, options, scope, undefined, trace)),
      again: () => answerTo(question, options, scope, undefined, trace),
      options,
    });
    // A database that cannot be read is of every project.
    const isOwner = options.audience === "private";
    const told = (source: MemorySource): ReturnType<SourceScope> =>
      isOwner && parts.sources.some((own) => own.source === source && own.scopeIn !== undefined)
        ? undefined
        : scope(source);
    const excluded = excludedIn(told, options.sources, index.facts().sources);
    const report = reportOf(outcome, { unfresh, excluded, isOwner }, parts);
    const found = outcome.results.length;
    const says = isOwner && options.sources.includes("memory") && isPoor(report, found);
    options.onDebug(says ? withUnsearched(report, found, await unsearched(options.signal), workspaceDir) : report);
    return outcome.results;
  };
}

/** The one report of a search: its state and reason are made here of everything that is the case. */
function reportOf(
  { report: given, results, conditions: own = [] }: SearchOutcome,
  {
    unfresh,
    excluded,
    isOwner,
  }: { unfresh: SearchCondition | undefined; excluded: ExcludedNotes | undefined; isOwner: boolean },
  { index, vectors, embeddings, context }: SearchParts,
): SearchReport {
  const isOwn = vectors !== undefined && isOwner;
  // A result that answers the question is one, whatever else there is.
  const missed = excluded !== undefined && excluded.count > 0 && isPoor(given, results.length) ? excluded : undefined;
  const conditions = [
    missed && missedNotes(missed),
    isOwn ? unvectored(own, vectors, index) : undefined,
    unfresh && (isOwner ? unfresh : conditionForAll(unfresh)),
    embeddings.degraded ? ({ state: "degraded", reason: embeddings.reason } as const) : undefined,
    ...own,
  ].filter((condition) => condition !== undefined);
  const accepted = results.length === 0 ? (excluded?.byConfiguration ?? 0) : 0;
  const empty =
    isOwner && conditions.length === 0 && index.facts().stats.files === 0
      ? noNotes(context.workspaceDir, notesLayout(context.workspaceDir, context.settings.notes).layout)
      : undefined;
  // Why nothing was found would be a claim about notes that were not all looked at.
  const isClaim = missed === undefined && !conditions.some(({ state }) => state === "stale");
  const reasons = [
    isClaim ? (empty?.reason ?? given.reason) : undefined,
    accepted > 0 ? describeExcluded({ count: 0, notes: [], byConfiguration: accepted }) : undefined,
  ];
  const report: SearchReport = {
    ...given,
    ...(isOwn && given.fallback === undefined && { fallback: vectors.facts().fallback }),
    reason: reasons.filter((reason) => reason !== undefined).join("; ") || undefined,
    ...(empty && { action: empty.action }),
    ...(missed && { action: [given.action, acceptNotes].filter(Boolean).join(" ") }),
    excluded: excluded && { ...excluded, notes: excluded.notes.slice(0, namedNotes) },
  };
  return withConditions(report, conditions);
}

function missedNotes(excluded: ExcludedNotes): SearchCondition {
  const reason = describeExcluded({ ...excluded, byConfiguration: 0 }) ?? "";
  return { state: "degraded", reason, count: excluded.count };
}

/** Chunks that only words find, where the answer does not say itself that words answered alone. */
function unvectored(own: readonly SearchCondition[], vectors: Embedder, index: IndexSync): SearchCondition | undefined {
  const { missing } = vectors.facts();
  if (own.some(({ state }) => state === "degraded") || missing === 0) return undefined;
  const why = index.facts().missingVectors ?? (missing === undefined ? undefined : "they are being made");
  if (why === undefined) return undefined;
  const reason = `keywords answered for chunks without a vector: ${why}`;
  return { state: "degraded", reason, ...(missing === undefined ? {} : { count: missing }) };
}

/** One text for what could not be read, to tell whether that is still the same. */
function unreadIn({ sources }: IndexFacts): string {
  return JSON.stringify([...sources].map(([source, { unreadPlaces }]) => [source, unreadPlaces]));
}
