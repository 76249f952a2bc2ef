import type {
  EmbeddingChoice,
  ManagerSearchOptions,
  MemoryPluginContext,
  MemorySource,
  SearchAnswer,
} from "@memslot/core";
import type { ChunkIndex } from "./chunk-index.ts";
import { projectScopes } from "./sources/agents/agent-source.ts";
import type { Embedder } from "./embedding/embedder.ts";
import type { UnsearchedCounter } from "./scan/unsearched.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { journalFolder, journalOfTranscript } from "./sources/folders.ts";
import { answerOf, withMissingWithin } from "./search/answer.ts";
import { checkedSearch, searchAhead } from "./search/checked-search.ts";
import { placesOf, type SearchInput, type SearchOutcome } from "./search/search-outcome.ts";
import { askedQuery, isFiltered } from "./search/query/asked-query.ts";
import { findFiltered, searchFiltered } from "./search/query/filtered-search.ts";
import { searchChunks } from "./search/search.ts";
import { LanguageMemory } from "./search/words/word-source.ts";
import { sessionScope, type SourceScope } from "./search/session-scope.ts";
import { createSessionLookup } from "./sources/sessions.ts";
import type { RerankStage } from "./rerank/rerank-stage.ts";
import type { IndexFacts } from "./sync/index-facts.ts";
import type { IndexSync } from "./sync/index-sync.ts";
import { excludedIn, withoutUnread } from "./sync/index-status.ts";

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

/** A search of a manager. `trace` is given what has led to the answer. */
type Search = (query: string, options: ManagerSearchOptions, trace?: SearchInput["trace"]) => Promise<SearchAnswer>;

/** How a manager searches: in files that are up to date, and with one report of all that is the case. */
export function createManagerSearch(parts: SearchParts): Search {
  const { backend, store, index, find } = parts;
  const { agentId, stateDir, settings, workspaceDir } = parts.context;
  const hasSessions = settings.sources.some((source) => source === "sessions" || source === "journal");
  const transcripts = hasSessions ? createSessionLookup({ stateDir, agentId }) : undefined;
  const journal = journalFolder({ stateDir, agentId });
  const hasProjects = parts.sources.some(({ scopeIn }) => scopeIn !== undefined);
  const languages = new LanguageMemory();

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

  return async (query, options, trace) => {
    // Where keywords alone are asked for, the query reaches no provider.
    const { vectors, rerank } = options.keywordsOnly === true ? { vectors: undefined, rerank: undefined } : parts;
    const now = new Date();
    const asked = askedQuery(query, options, now);
    const isOwner = options.audience === "private";

    async function ask(allowed: SourceScope, revision?: string): Promise<SearchOutcome> {
      const { sources, stats } = index.facts();
      const scope = withoutUnread(allowed, sources);
      const days: SearchInput["days"] = (places) => index.days(places);
      const state = { now, scope, days, languages, chunks: stats.chunks, revision };
      // Without a chunk there is nothing to compare with. Others who read along are not to learn whether there is one.
      const legs = { store, vectors: isOwner && stats.chunks === 0 ? undefined : vectors, rerank };
      const question = { settings, backend, query, options, trace, ...state, ...legs };
      const outcome = await (isFiltered(asked)
        ? find
          ? findFiltered({ ...question, asked }, find)
          : searchFiltered({ ...question, asked })
        : (find ?? searchChunks)(question));
      if (isOwner || !vectors || vectors.facts().missing === 0) return outcome;
      return await withMissingWithin(outcome, { store, vectors, places: placesOf(options, scope) });
    }

    vectors?.warm();
    if (!find) rerank?.warm();
    const before = await scopeOf(options);
    const known = unreadIn(index.facts());
    // The index is asked whether it has changed before it is searched: what comes of that goes on beside the search.
    const freshening = index.freshen(options.signal);
    // A backend's own search, and what is paid for a question, are asked once and not ahead.
    const ahead = vectors || find || rerank ? undefined : searchAhead(store, (revision) => ask(before, revision));
    const unfresh = await freshening;
    // What has come meanwhile may be of this project.
    const scope = hasProjects ? await scopeOf(options) : before;
    const found = async (attempt: number): Promise<SearchOutcome | undefined> =>
      attempt === 1 && unreadIn(index.facts()) === known ? await ahead?.() : undefined;
    const outcome = await checkedSearch(
      async (attempt) => (await found(attempt)) ?? (await ask(scope)),
      parts,
      options,
    );
    // A database that cannot be read is of every project.
    const told = (source: MemorySource): ReturnType<SourceScope> =>
      isOwner && parts.sources.some((own) => own.source === source && own.scopeIn !== undefined)
        ? undefined
        : scope(source);
    return await answerOf(outcome, {
      ...parts,
      vectors,
      isOwner,
      unfresh,
      excluded: excludedIn(told, options.sources, index.facts().sources),
      unsearched: isOwner && options.sources.includes("memory") ? () => parts.unsearched(options.signal) : undefined,
    });
  };
}

/** One text for what could not be read, to tell whether that is still the same. */
function unreadIn({ sources }: IndexFacts): string {
  return JSON.stringify([...sources].map(([source, { unreadPlaces }]) => [source, unreadPlaces]));
}
