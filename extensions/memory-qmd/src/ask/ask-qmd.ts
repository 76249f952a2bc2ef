import type { SearchReport } from "@memslot/core";
import { buildQuery, meaningQuery } from "./build-query.ts";
import type { Collection } from "../update/collections.ts";
import type { Meaning } from "./meaning.ts";
import type { QmdOptions } from "../settings/options.ts";
import { QmdFailure, type QmdProcess, type QmdRow, type QmdSearch } from "../qmd-contract.ts";
import type { Updates } from "../update/updates.ts";

const lexicalMs = 2000;
const semanticMs = 8000;
/** What a model reads for one question: each takes it a second or two without a GPU. */
const rerankCandidates = 10;

export interface QmdRows {
  /** Best first. */
  rows: QmdRow[];
  /** They were found by meaning too. */
  byMeaning: boolean;
  /** Why not, where the configuration asks for it. */
  note?: Pick<SearchReport, "reason" | "action"> | undefined;
}

/** Asks qmd a question about some of its collections. Throws `QmdFailure`, or `AbortError`. */
export type AskQmd = (question: {
  query: string;
  collections: readonly Collection[];
  /** Files that are wanted. */
  limit: number;
  signal: AbortSignal;
}) => Promise<QmdRows>;

export function createAskQmd(input: {
  process: QmdProcess;
  updates: Updates;
  meaning: Meaning;
  options: QmdOptions;
}): AskQmd {
  const { process, updates, meaning, options } = input;

  async function ask(
    lists: readonly QmdSearch[],
    { collections, limit, signal }: Pick<Parameters<AskQmd>[0], "collections" | "limit" | "signal">,
    usesModels: boolean,
  ): Promise<QmdRow[]> {
    const { rows } = await process.query({
      searches: lists,
      limit,
      collections: collections.map(({ name }) => name),
      rerank: usesModels && options.rerank,
      ...(usesModels && options.rerank && { candidateLimit: rerankCandidates }),
      deadlineMs: options.limits.timeoutMs ?? (usesModels ? semanticMs : lexicalMs),
      signal,
    });
    return rows;
  }

  /** By words; once more where qmd did not know its collections, which it is told again. */
  async function byWords(question: Parameters<AskQmd>[0]): Promise<QmdRow[]> {
    const calls = buildQuery(question.query);
    const run = async (): Promise<QmdRow[]> =>
      interleave(await Promise.all(calls.map((lists) => ask(lists, question, false))));
    try {
      return await run();
    } catch (error) {
      const isForgotten =
        error instanceof QmdFailure && (error.reason === "unknown_collection" || error.reason === "config_broken");
      if (!isForgotten) throw error;
      await updates.restoreCollections();
      return await run();
    }
  }

  async function byMeaning(question: Parameters<AskQmd>[0], lists: readonly QmdSearch[]): Promise<QmdRow[]> {
    const [words = []] = buildQuery(question.query);
    // The first list counts twice: it is what was asked.
    return ask([...lists, ...words.slice(0, 10 - lists.length)], question, true);
  }

  return async (question) => {
    if (question.collections.length === 0) return { rows: [], byMeaning: false };
    const meant = meaning.isWanted ? meaningQuery(question.query) : undefined;
    if (meant === undefined) return { rows: await byWords(question), byMeaning: false };
    const state = await meaning.prepare(updates.index.status?.hasVectorIndex);
    if (!state.use) return { rows: await byWords(question), byMeaning: false, note: state };
    try {
      return { rows: await byMeaning(question, [meant]), byMeaning: true };
    } catch (error) {
      if (!(error instanceof QmdFailure)) throw error;
      const reason = meaning.failed(error);
      return { rows: await byWords(question), byMeaning: false, note: { reason } };
    }
  };
}

/** One list of several: the best of each, then the second of each, each file once. */
function interleave(lists: readonly (readonly QmdRow[])[]): QmdRow[] {
  const merged = new Map<string, QmdRow>();
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  for (let rank = 0; rank < longest; rank++) {
    for (const list of lists) {
      const row = list[rank];
      const key = row && `${row.collection}/${row.path}`;
      if (row !== undefined && key !== undefined && !merged.has(key)) merged.set(key, row);
    }
  }
  return [...merged.values()];
}
