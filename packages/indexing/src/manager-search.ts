import path from "node:path";
import {
  type EmbeddingChoice,
  type ExcludedNotes,
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemorySource,
  type SearchAnswer,
  type SearchCondition,
  type SearchReport,
  type Sentence,
  type UnsearchedFiles,
} from "@memslot/core";
import {
  isPoor,
  namedNotes,
  noNotes,
  reasonsOf,
  sentence,
  sentenceIn,
  skippedNotes,
  withConditions,
  withReasons,
} from "@memslot/core/host";
import { notesLayout } from "@memslot/core/files";
import type { Embedder } from "./embedding/embedder.ts";
import type { IndexSync } from "./sync/index-sync.ts";
import type { UnsearchedCounter } from "./scan/survey-notes.ts";
import type { IndexedSource, SearchedSource, SourceScope } from "./indexed-source.ts";
import { journalFolder, journalOfTranscript, runningSessions } from "./sources/session-folders.ts";
import { placesOf, type SearchInput, type SearchOutcome, withMore } from "./search/search-outcome.ts";
import { askedQuery, isFiltered } from "./search/query/query-filters.ts";
import { findFiltered, searchFiltered } from "./search/query/filtered-search.ts";
import { searchChunks } from "./search/search.ts";
import { LanguageMemory } from "./search/words/word-source.ts";
import { excludedIn, projectScopes, sessionScope, withoutUnread } from "./search/session-scope.ts";
import { createProjectMatch } from "./sources/project-match.ts";
import { createSessionLookup } from "./sources/sessions.ts";
import type { RerankStage } from "./search/rerank-stage.ts";
import type { IndexFacts } from "./sync/sync-state.ts";
import type { NoteIndex } from "./note-index.ts";
import { type FileKey, fileName } from "./chunk-store.ts";
import { beforeOtherWork } from "./time-slices.ts";

interface SearchContext {
  context: MemoryPluginContext;
  backend: string;
  store: NoteIndex;
  sources: readonly IndexedSource[];
  index: IndexSync;
  vectors: Embedder | undefined;
  embeddings: EmbeddingChoice;
  rerank: RerankStage | undefined;
  unsearched: UnsearchedCounter;
  find: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
}

interface AnswerFacts {
  options: ManagerSearchOptions;
  places: readonly SearchedSource[];
  /** Why the index may be out of date. */
  unfresh: SearchCondition | undefined;
  /** Notes that the session may see and that are not searched. */
  excluded: ExcludedNotes | undefined;
}

/** A search of a manager. `trace` is given what has led to the answer. */
type Search = (query: string, options: ManagerSearchOptions, trace?: SearchInput["trace"]) => Promise<SearchAnswer>;

/** Creates the search of a manager: updates the index first, and reports all conditions. */
export function createManagerSearch(parts: SearchContext): Search {
  const { backend, index, find } = parts;
  const { agentId, stateDir, settings, projectDir = parts.context.workspaceDir } = parts.context;
  const isInProject = createProjectMatch(projectDir);
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
    const { vectors, rerank } = options.keywordsOnly === true ? { vectors: undefined, rerank: undefined } : parts;
    const store = endingWith(parts.store, options.signal);
    const now = new Date();
    const asked = askedQuery(query, options, now);
    const isOwner = options.audience === "private";

    async function ask(allowed: SourceScope, revision?: string): Promise<SearchOutcome> {
      const { sources, stats, isCounted } = index.facts();
      const scope = withoutUnread(allowed, sources);
      const days: SearchInput["days"] = (places) => index.days(places);
      const state = { now, scope, days, languages, stats: isCounted ? stats : undefined, revision };
      // Without a chunk there is nothing to compare with. Others who read along are not to learn whether there is one.
      const legs = { store, vectors: isOwner && stats.chunks === 0 ? undefined : vectors, rerank };
      const running = isOwner && parts.sources.length > 1 ? runningSessions(stateDir, isInProject) : [];
      const question = { settings, backend, query, options, trace, running, ...state, ...legs };
      if (!isFiltered(asked)) return await (find ?? searchChunks)(question);
      return await (find ? findFiltered({ ...question, asked }, find) : searchFiltered({ ...question, asked }));
    }

    vectors?.warm();
    if (!find) rerank?.warm();
    const before = await scopeOf(options);
    const known = searchedIn(index.facts());
    // The index is asked whether it has changed before it is searched: what comes of that goes on beside the search.
    const freshening = index.freshen(options.signal, options.fresh);
    const ahead =
      vectors || find || rerank ? undefined : searchAhead(store, (revision) => beforeOtherWork(ask(before, revision)));
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
    const told = (source: MemorySource): ReturnType<SourceScope> =>
      isOwner && parts.sources.some((own) => own.source === source && own.scopeIn !== undefined)
        ? undefined
        : scope(source);
    const { sources } = index.facts();
    const places = placesOf(options, withoutUnread(scope, sources));
    const excluded = excludedIn(told, options.sources, sources);
    return await answerOf(outcome, { ...parts, vectors }, { options, places, unfresh, excluded });
  };
}

function endingWith(store: NoteIndex, signal: AbortSignal): NoteIndex {
  return {
    ...store,
    searchKeyword: (query) => store.searchKeyword(query, { signal }),
    searchVector: (query) => store.searchVector(query, { signal }),
  };
}

function searchedIn({ sources, stats, isCounted }: IndexFacts): string {
  const unread = [...sources].map(([source, { unreadPlaces }]) => [source, unreadPlaces]);
  return JSON.stringify([
    unread,
    isCounted && stats.sources.flatMap(({ source, chunks }) => (chunks > 0 ? source : [])),
  ]);
}

/** Attempts per query: limits the retries for an index that stays wrong. */
const attempts = 3;

/** Verifies results against their files; outdated files are reindexed and the search runs once more. */
async function checkedSearch(
  ask: (attempt: number) => Promise<SearchOutcome>,
  { store, sources, index }: SearchContext,
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
    if (attempt === attempts || (unfinished !== undefined && !isRemade)) {
      const results = outcome.results.filter((result) => !wrong.has(result));
      return withMore({ ...outcome, results }, [leftOut(wrong.size), ...more]);
    }
    const files = new Map(Array.from(wrong, (file) => [fileName(file), file]));
    unfinished = await index.reread([...files.values()], signal);
    if (unfinished !== undefined && audience === "shared") unfinished = conditionForAll(unfinished);
  }
}

/** Searches while the scan runs. Undefined if the store was written meanwhile: search again. */
export function searchAhead<Answer>(
  store: Pick<NoteIndex, "revision">,
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

async function findWrong(
  { lines = new Map() }: SearchOutcome,
  sources: readonly IndexedSource[],
  signal: AbortSignal,
): Promise<ReadonlySet<FileKey>> {
  const wrong = new Set<FileKey>();
  const files = Map.groupBy(lines, ([file]) => fileName(file));
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

function leftOut(count: number): SearchCondition {
  if (count === 0) return { state: "stale", ...sentence("index.rebuilt") };
  return { state: "stale", ...sentence("index.outdated", { count }), count };
}

async function answerOf(
  { report: found, results, conditions: own = [] }: SearchOutcome,
  parts: SearchContext,
  facts: AnswerFacts,
): Promise<SearchAnswer> {
  const { index, vectors, embeddings, context } = parts;
  const { unfresh, excluded, options } = facts;
  const isOwner = options.audience === "private";
  const isWeak = isPoor(found, results.length);
  const missed = excluded !== undefined && excluded.count > 0 && isWeak ? excluded : undefined;
  const missing = await unvectored(own, parts, facts);
  const conditions = [
    missed && missedNotes(missed),
    isOwner ? missing : undefined,
    unfresh && (isOwner ? unfresh : conditionForAll(unfresh)),
    embeddings.degraded ? ({ state: "degraded", ...sentenceIn(embeddings) } as const) : undefined,
    ...own,
    isOwner ? undefined : missing,
  ].filter((condition) => condition !== undefined);
  const empty =
    isOwner && conditions.length === 0 && index.facts().stats.files === 0
      ? noNotes(context.workspaceDir, notesLayout(context.workspaceDir, context.settings.notes).layout)
      : undefined;
  // Do not explain an empty answer if some notes were not searched.
  const isClaim = missed === undefined && !conditions.some(({ state }) => state === "stale");
  const accepted = results.length === 0 ? (excluded?.byConfiguration ?? 0) : 0;
  const reasons = isClaim ? (empty ? [empty.why] : [...reasonsOf(found)]) : [];
  if (accepted > 0) reasons.push(sentence("files.chosen", { count: accepted }));
  const actions = empty ? [empty.next] : [...(found.actions ?? [])];
  if (missed) actions.push(sentence("next.accept"));
  const isCounted = isWeak && isOwner && options.sources.includes("memory");
  const unsearched = isCounted ? await parts.unsearched(options.signal) : undefined;
  if (unsearched !== undefined && unsearched.files > 0) {
    if (results.length > 0 && conditions.length + reasons.length === 0) reasons.push(sentence("empty.weak"));
    reasons.push(describeUnsearched(unsearched));
    actions.push(howToSearch(unsearched, context.workspaceDir));
  }
  const report: SearchReport = {
    ...found,
    ...(isOwner && vectors && found.fallback === undefined && { fallback: vectors.facts().fallback }),
    ...(actions.length > 0 && { action: actions.map(({ reason }) => reason).join(" "), actions }),
    excluded: excluded && { ...excluded, notes: excluded.notes.slice(0, namedNotes) },
    ...(unsearched && unsearched.files > 0 && { unsearched }),
  };
  return { results, report: withConditions(withReasons(report, reasons), conditions) };
}

function missedNotes(excluded: ExcludedNotes): SearchCondition {
  return { state: "degraded", ...skippedNotes(excluded), count: excluded.count };
}

/** Number of chunks without vectors; a shared audience gets the count of visible chunks. */
async function unvectored(
  own: readonly SearchCondition[],
  { index, store, vectors }: SearchContext,
  { places, options }: AnswerFacts,
): Promise<SearchCondition | undefined> {
  const missing = vectors?.facts().missing;
  if (!vectors || own.some(({ state }) => state === "degraded") || missing === 0) return undefined;
  const tell = (why: Sentence, count: number | undefined): SearchCondition => {
    return { state: "degraded", ...sentence("vectors.missing", { why }), ...(count !== undefined && { count }) };
  };
  if (options.audience === "private") {
    const why = index.facts().missingVectors ?? (missing === undefined ? undefined : sentence("vectors.made"));
    return why === undefined ? undefined : tell(why, missing);
  }
  const space = await vectors.primary.knownSpace();
  if (space === undefined) return undefined;
  const counts = await Promise.all(
    places.map(({ source, scope }) => store.spaceStats(space, { sources: [source], scope })),
  );
  const pending = counts.reduce((sum, count) => sum + count.pending, 0);
  return pending === 0 ? undefined : tell(sentence("vectors.left", { count: pending }), pending);
}

function describeUnsearched({ files, more }: UnsearchedFiles): Sentence {
  return sentence(more ? "files.outsideMore" : "files.outside", { count: files });
}

function howToSearch({ folders }: UnsearchedFiles, workspaceDir: string): Sentence {
  // Whole: a relative path in a configuration starts where that file lies.
  const names = folders.map((folder) => JSON.stringify(path.join(workspaceDir, folder))).join(", ");
  return names === "" ? sentence("next.searchAll") : sentence("next.searchFolders", { folders: names });
}

/**
 * For a shared audience: reports that an answer may be incomplete, without details, which would describe private notes.
 */
function conditionForAll({ state }: SearchCondition): SearchCondition {
  return { state, ...sentence("files.late") };
}
