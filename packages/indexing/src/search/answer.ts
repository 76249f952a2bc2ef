import path from "node:path";
import {
  acceptNotes,
  describeExcluded,
  type EmbeddingChoice,
  type ExcludedNotes,
  isPoor,
  type MemoryPluginContext,
  namedNotes,
  noNotes,
  type SearchAnswer,
  type SearchCondition,
  type SearchReport,
  type UnsearchedFiles,
  withConditions,
} from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import type { ChunkIndex } from "../chunk-index.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { IndexSync } from "../sync/index-sync.ts";
import type { SearchedSource, SearchOutcome } from "./search-outcome.ts";

/** What a manager answers from. */
export interface AnswerParts {
  context: MemoryPluginContext;
  store: ChunkIndex;
  index: IndexSync;
  /** Absent where meaning is not asked. */
  vectors: Embedder | undefined;
  embeddings: EmbeddingChoice;
}

/** What is known of the notes when a search has found its results. */
export interface AnswerFacts extends AnswerParts {
  /** What was searched. */
  places: readonly SearchedSource[];
  /** Only the owner reads the answer. */
  isOwner: boolean;
  /** Why the index may be older than the files. */
  unfresh: SearchCondition | undefined;
  /** Notes that the session may see and that are not searched. */
  excluded: ExcludedNotes | undefined;
  /** Counts the Markdown files that are no part of the memory. Absent where that says nothing of the answer. */
  unsearched: (() => Promise<UnsearchedFiles>) | undefined;
}

/** The answer of a search: state, reason and action of its report are made here alone, from all conditions. */
export async function answerOf(
  { report: found, results, conditions: own = [] }: SearchOutcome,
  facts: AnswerFacts,
): Promise<SearchAnswer> {
  const { index, vectors, embeddings, context, isOwner, unfresh, excluded } = facts;
  const isWeak = isPoor(found, results.length);
  // A result that answers the question is one, whatever else there is.
  const missed = excluded !== undefined && excluded.count > 0 && isWeak ? excluded : undefined;
  const missing = await unvectored(own, facts);
  const conditions = [
    missed && missedNotes(missed),
    isOwner ? missing : undefined,
    unfresh && (isOwner ? unfresh : conditionForAll(unfresh)),
    embeddings.degraded ? ({ state: "degraded", reason: embeddings.reason } as const) : undefined,
    ...own,
    isOwner ? undefined : missing,
  ].filter((condition) => condition !== undefined);
  const empty =
    isOwner && conditions.length === 0 && index.facts().stats.files === 0
      ? noNotes(context.workspaceDir, notesLayout(context.workspaceDir, context.settings.notes).layout)
      : undefined;
  // Why nothing was found would be a claim about notes that were not all looked at.
  const isClaim = missed === undefined && !conditions.some(({ state }) => state === "stale");
  const accepted = results.length === 0 ? (excluded?.byConfiguration ?? 0) : 0;
  const reasons = [
    isClaim ? (empty?.reason ?? found.reason) : undefined,
    accepted > 0 ? describeExcluded({ count: 0, notes: [], byConfiguration: accepted }) : undefined,
  ].filter((reason) => reason !== undefined);
  const actions = [empty?.action ?? found.action, missed && acceptNotes];
  const unsearched = isWeak ? await facts.unsearched?.() : undefined;
  if (unsearched !== undefined && unsearched.files > 0) {
    if (results.length > 0 && conditions.length + reasons.length === 0)
      reasons.push("the best result holds little of what was asked");
    reasons.push(describeUnsearched(unsearched));
    actions.push(howToSearch(unsearched, context.workspaceDir));
  }
  const action = actions.filter(Boolean).join(" ");
  const report: SearchReport = {
    ...found,
    ...(isOwner && vectors && found.fallback === undefined && { fallback: vectors.facts().fallback }),
    reason: reasons.join("; ") || undefined,
    ...(action !== "" && { action }),
    excluded: excluded && { ...excluded, notes: excluded.notes.slice(0, namedNotes) },
    ...(unsearched && unsearched.files > 0 && { unsearched }),
  };
  return { results, report: withConditions(report, conditions) };
}

function missedNotes(excluded: ExcludedNotes): SearchCondition {
  const reason = describeExcluded({ ...excluded, byConfiguration: 0 }) ?? "";
  return { state: "degraded", reason, count: excluded.count };
}

/**
 * Chunks that only words find, where the answer does not say itself that words answered alone. Others than the owner are
 * told of those that they may see.
 */
async function unvectored(
  own: readonly SearchCondition[],
  { index, store, vectors, places, isOwner }: AnswerFacts,
): Promise<SearchCondition | undefined> {
  const missing = vectors?.facts().missing;
  if (!vectors || own.some(({ state }) => state === "degraded") || missing === 0) return undefined;
  const tell = (why: string, count: number | undefined): SearchCondition => {
    const reason = `keywords answered for chunks without a vector: ${why}`;
    return { state: "degraded", reason, ...(count !== undefined && { count }) };
  };
  if (isOwner) {
    const why = index.facts().missingVectors ?? (missing === undefined ? undefined : "they are being made");
    return why === undefined ? undefined : tell(why, missing);
  }
  const space = await vectors.primary.knownSpace();
  if (space === undefined) return undefined;
  const counts = await Promise.all(
    places.map(({ source, scope }) => store.spaceStats(space, { sources: [source], scope })),
  );
  const pending = counts.reduce((sum, count) => sum + count.pending, 0);
  return pending === 0 ? undefined : tell(`${pending} are left`, pending);
}

function describeUnsearched({ files, more }: UnsearchedFiles): string {
  const count = `${more ? "more than " : ""}${files}`;
  return files === 1 && !more
    ? "1 Markdown file below the workspace is not searched"
    : `${count} Markdown files below the workspace are not searched`;
}

function howToSearch({ folders }: UnsearchedFiles, workspaceDir: string): string {
  // Whole: a relative path in a configuration starts where that file lies.
  const names = folders.map((folder) => JSON.stringify(path.join(workspaceDir, folder))).join(", ");
  return `Set memorySearch.notes to "all" to have them searched, or name folders in memorySearch.extraPaths${names === "" ? "" : `, for example ${names}`}.`;
}

/**
 * What a session in which others read along is told of the state of the index: that an answer may lack something, and
 * never what. Which files have changed or failed, how many there are and how far they are is about private notes too.
 */
export function conditionForAll({ state }: SearchCondition): SearchCondition {
  return { state, reason: "what was saved last may be missing" };
}
