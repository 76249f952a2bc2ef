import type { SearchReport } from "@memslot/core";
import { QmdFailure } from "../failures.ts";
import type { QmdClient, QmdRow, QmdSearch } from "../process/qmd-client.ts";
import type { QmdOptions } from "../options.ts";
import type { Collection } from "../update/collections.ts";
import type { Updates } from "../update/updates.ts";
import { lexicalLists, maxLists, semanticList } from "./query-lists.ts";
import type { SemanticMode } from "./semantic-mode.ts";

const lexicalMs = 2000;
const semanticMs = 8000;
/** Candidates that a model reads for one query: each takes a second or two without a GPU. */
const rerankCandidates = 10;

export interface QmdQuestion {
  query: string;
  collections: readonly Collection[];
  limit: number;
  signal: AbortSignal;
}

export interface QmdAnswer {
  rows: QmdRow[];
  isSemantic: boolean;
  note?: Pick<SearchReport, "reason" | "action"> | undefined;
}

export class QmdSearcher {
  readonly #input: { client: QmdClient; updates: Updates; semantic: SemanticMode; options: QmdOptions };

  constructor(input: { client: QmdClient; updates: Updates; semantic: SemanticMode; options: QmdOptions }) {
    this.#input = input;
  }

  async ask({ collections, ...given }: QmdQuestion): Promise<QmdAnswer> {
    const { semantic, updates } = this.#input;
    const question = { ...given, collections: updates.index.withDocuments(collections) };
    if (question.collections.length === 0) return { rows: [], isSemantic: false };
    const list = semantic.isWanted ? semanticList(question.query) : undefined;
    if (list === undefined) return { rows: await this.#byWords(question), isSemantic: false };
    const state = await semantic.prepare(updates.index.status?.hasVectorIndex);
    if (!state.use) return { rows: await this.#byWords(question), isSemantic: false, note: state };
    const [words = []] = lexicalLists(question.query);
    try {
      // The first list counts twice: it is the question.
      const lists = [list, ...words].slice(0, maxLists);
      return { rows: await this.#query(lists, question, true), isSemantic: true };
    } catch (error) {
      if (!(error instanceof QmdFailure)) throw error;
      const reason = semantic.failed(error);
      return { rows: await this.#byWords(question), isSemantic: false, note: { reason } };
    }
  }

  /** Once more if qmd did not know the collections: they are written again before. */
  async #byWords(question: QmdQuestion): Promise<QmdRow[]> {
    const calls = lexicalLists(question.query);
    const run = async (): Promise<QmdRow[]> =>
      interleave(await Promise.all(calls.map((lists) => this.#query(lists, question, false))));
    try {
      return await run();
    } catch (error) {
      const isForgotten =
        error instanceof QmdFailure && (error.reason === "unknown_collection" || error.reason === "config_broken");
      if (!isForgotten) throw error;
      await this.#input.updates.restoreCollections();
      return await run();
    }
  }

  async #query(searches: readonly QmdSearch[], question: QmdQuestion, usesModels: boolean): Promise<QmdRow[]> {
    const { client, options } = this.#input;
    const { limit, signal } = question;
    const rerank = usesModels && options.rerank;
    return await client.query({
      searches,
      limit,
      collections: question.collections.map(({ name }) => name),
      rerank,
      ...(rerank && { candidateLimit: rerankCandidates }),
      deadlineMs: options.limits.timeoutMs ?? (usesModels ? semanticMs : lexicalMs),
      signal,
    });
  }
}

function interleave(lists: readonly (readonly QmdRow[])[]): QmdRow[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const rows = Array.from({ length: longest }, (_, rank) => lists.flatMap((list) => list[rank] ?? [])).flat();
  const byFile = Map.groupBy(rows, ({ collection, path }) => `${collection}/${path}`);
  return [...byFile.values()].flatMap(([first]) => first ?? []);
}
