import type { ManagerSearchOptions, MemorySource, SearchAnswer, SearchCondition } from "@memslot/core";
import { projectScopes } from "./sources/agents/agent-source.ts";
import type { UnsearchedCounter } from "./scan/workspace.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { journalFolder, journalOfTranscript } from "./sources/folders.ts";
import { answerOf, type AnswerParts, conditionForAll } from "./search/answer.ts";
import { placesOf, type SearchInput, type SearchOutcome, withMore } from "./search/search-outcome.ts";
import { askedQuery, isFiltered } from "./search/query/asked-query.ts";
import { findFiltered, searchFiltered } from "./search/query/filtered-search.ts";
import { searchChunks } from "./search/search.ts";
import { LanguageMemory } from "./search/words/word-source.ts";
import { sessionScope, type SourceScope } from "./search/session-scope.ts";
import { createSessionLookup } from "./sources/sessions.ts";
import type { RerankStage } from "./rerank/rerank-stage.ts";
import type { IndexFacts } from "./sync/index-record.ts";
import { excludedIn, withoutUnread } from "./sync/index-status.ts";
import type { ChunkIndex } from "./chunk-index.ts";
import type { FileKey } from "./chunk-store.ts";

interface SearchParts extends AnswerParts {
  backend: string;
  sources: readonly IndexedSource[];
  unsearched: UnsearchedCounter;
  rerank: RerankStage | undefined;
  /** Finds in place of the index. */
  find: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
}

/** A search of a manager. `trace` is given what has led to the answer. */
type Search = (query: string, options: ManagerSearchOptions, trace?: SearchInput["trace"]) => Promise<SearchAnswer>;

/** How a manager searches: in files that are up to date, and with one report of all that is the case. */
export function createManagerSearch(parts: SearchParts): Search {
  const { backend, index, find } = parts;
  const { agentId, stateDir, settings } = parts.context;
  const hasSessions = settings.sources.some((source) => source === "sessions" || source === "journal");
  const transcripts = hasSessions ? createSessionLookup({ stateDir, agentId }) : undefined;
  const journal = journalFolder({ stateDir, agentId });
  const hasProjects = parts.sources.some(({ scopeIn }) => scopeIn !== undefined);
  const languages = new LanguageMemory();

  async function scopeOf(options: ManagerSearchOptions): Promise<SourceScope> {
    const projects = await projectScopes(parts.sources, options.audience, () => index.stored());
    const own = await sessionScope({
      ...parts.context,
      ...options,
      transcriptOf: async (key) => await transcripts?.(key),
      journalOf: (transcript) => journalOfTranscript(journal, transcript),
    });
    return (source) => projects.get(source) ?? own(source);
  }

  return async (query, options, trace) => {
    // Where keywords alone are asked for, the query reaches no provider.
    const { vectors, rerank } = options.keywordsOnly === true ? { vectors: undefined, rerank: undefined } : parts;
    const store = endingWith(parts.store, options.signal);
    const now = new Date();
    const asked = askedQuery(query, options, now);
    const isOwner = options.audience === "private";

    async function ask(allowed: SourceScope, revision?: string): Promise<SearchOutcome> {
      const { sources, stats } = index.facts();
      const scope = withoutUnread(allowed, sources);
      const days: SearchInput["days"] = (places) => index.days(places);
      const state = { now, scope, days, languages, stats, revision };
      // Without a chunk there is nothing to compare with. Others who read along are not to learn whether there is one.
      const legs = { store, vectors: isOwner && stats.chunks === 0 ? undefined : vectors, rerank };
      const question = { settings, backend, query, options, trace, ...state, ...legs };
      if (!isFiltered(asked)) return await (find ?? searchChunks)(question);
      return await (find ? findFiltered({ ...question, asked }, find) : searchFiltered({ ...question, asked }));
    }

    vectors?.warm();
    if (!find) rerank?.warm();
    const before = await scopeOf(options);
    const known = searchedIn(index.facts());
    // The index is asked whether it has changed before it is searched: what comes of that goes on beside the search.
    const freshening = index.freshen(options.signal);
    // A backend's own search, and what is paid for a question, are asked once and not ahead.
    const ahead = vectors || find || rerank ? undefined : searchAhead(store, (revision) => ask(before, revision));
    const unfresh = await freshening;
    // What has come meanwhile may be of this project.
    const scope = hasProjects ? await scopeOf(options) : before;
    const found = async (attempt: number): Promise<SearchOutcome | undefined> =>
      attempt === 1 && searchedIn(index.facts()) === known ? await ahead?.() : undefined;
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
    const { sources } = index.facts();
    return await answerOf(outcome, {
      ...parts,
      vectors,
      places: placesOf(options, withoutUnread(scope, sources)),
      isOwner,
      unfresh,
      excluded: excludedIn(told, options.sources, sources),
      unsearched: isOwner && options.sources.includes("memory") ? () => parts.unsearched(options.signal) : undefined,
    });
  };
}

/** The index for one question: its searches are given the signal of the caller. */
function endingWith(store: ChunkIndex, signal: AbortSignal): ChunkIndex {
  return {
    ...store,
    searchKeyword: (query) => store.searchKeyword(query, { signal }),
    searchVector: (query) => store.searchVector(query, { signal }),
  };
}

/** One text for what a search leaves out: what could not be read, and sources without a chunk. */
function searchedIn({ sources, stats }: IndexFacts): string {
  const unread = [...sources].map(([source, { unreadPlaces }]) => [source, unreadPlaces]);
  return JSON.stringify([unread, stats.sources.flatMap(({ source, chunks }) => (chunks > 0 ? source : []))]);
}

/** How often one question is asked: an index that is wrong again after it was mended is not asked for ever. */
const attempts = 3;

/**
 * Compares an answer with the files that it is from. What does not stand there is never returned as theirs: those files
 * are indexed again at once, and the question is asked once more. So it is too where the store has found in the middle
 * of it that it was damaged, and begun anew. `ask` is given the number of the attempt.
 */
async function checkedSearch(
  ask: (attempt: number) => Promise<SearchOutcome>,
  { store, sources, index }: SearchParts,
  { signal, audience }: ManagerSearchOptions,
): Promise<SearchOutcome> {
  let unfinished: SearchCondition | undefined;
  for (let attempt = 1; ; attempt++) {
    const before = store.health().remade ?? 0;
    const outcome = await ask(attempt);
    const isRemade = (store.health().remade ?? 0) !== before;
    const wrong = await findWrong(outcome, sources, signal);
    const more = unfinished === undefined ? [] : [unfinished];
    if (wrong.size === 0 && !isRemade) return withMore(outcome, more);
    if (attempt === attempts || (unfinished !== undefined && !isRemade))
      return withMore(without(outcome, wrong), [leftOut(wrong.size), ...more]);
    unfinished = await index.reread(uniqueFiles(wrong), signal);
    if (unfinished !== undefined && audience === "shared") unfinished = conditionForAll(unfinished);
  }
}

/**
 * Searches while the files are still looked at, which takes longer than the search itself. Gives what was found if
 * nothing has been written to the store since before it, by anybody; undefined where the search has to be made again.
 */
export function searchAhead<Answer>(
  store: Pick<ChunkIndex, "revision">,
  search: (revision: string) => Promise<Answer>,
): () => Promise<Answer | undefined> {
  const found = (async () => {
    const revision = await store.revision();
    return { revision, answer: await search(revision) };
  })().catch(() => undefined);
  return async () => {
    const ahead = await found;
    return ahead !== undefined && ahead.revision === (await store.revision()) ? ahead.answer : undefined;
  };
}

/** The results and dropped candidates whose lines are not in their files. */
async function findWrong(
  { lines = new Map() }: SearchOutcome,
  sources: readonly IndexedSource[],
  signal: AbortSignal,
): Promise<ReadonlySet<FileKey>> {
  const wrong = new Set<FileKey>();
  const files = Map.groupBy(lines, ([{ source, path }]) => JSON.stringify([source, path]));
  await Promise.all(
    Array.from(files.values(), async (own) => {
      const [[{ source, path }] = [{ source: "", path: "" }]] = own;
      const found = own.flatMap(([key, said]) => said.map((each) => ({ key, ...each })));
      const held = await sources.find((each) => each.source === source)?.holds?.(path, found, signal);
      for (const [index, { key }] of found.entries()) if (held !== undefined && held[index] !== true) wrong.add(key);
    }),
  );
  return wrong;
}

function uniqueFiles(wrong: ReadonlySet<FileKey>): FileKey[] {
  const files = [...wrong].map(({ path, source }): [string, FileKey] => [
    JSON.stringify([source, path]),
    { path, source },
  ]);
  return [...new Map(files).values()];
}

function without(outcome: SearchOutcome, wrong: ReadonlySet<FileKey>): SearchOutcome {
  return { ...outcome, results: outcome.results.filter((result) => !wrong.has(result)) };
}

function leftOut(count: number): SearchCondition {
  if (count === 0) return { state: "stale", reason: "the index was damaged and is being made anew from the notes" };
  const reason = `what the index says of ${count} places does not stand in the files and is left out; they are being indexed again`;
  return { state: "stale", reason, count };
}
