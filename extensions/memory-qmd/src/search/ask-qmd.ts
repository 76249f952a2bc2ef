import { QmdFailure } from "../failures.ts";
import type { QmdRow, QmdSearch } from "../process/qmd-client.ts";
import type { QmdContext } from "../open-memory-parts.ts";
import type { Collection } from "../update/collections.ts";
import type { SemanticState } from "./semantic-mode.ts";
import { lexicalLists, maxLists, semanticList } from "./build-qmd-queries.ts";

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
  note?: Pick<SemanticState, "why" | "next"> | undefined;
}

/** Asks with the models of qmd if they are wanted and usable, else with words alone. */
export async function askQmd({ collections, ...given }: QmdQuestion, context: QmdContext): Promise<QmdAnswer> {
  const { semantic, updates } = context;
  const question = { ...given, collections: updates.index.withDocuments(collections) };
  if (question.collections.length === 0) return { rows: [], isSemantic: false };
  const byWords = async (note?: QmdAnswer["note"]): Promise<QmdAnswer> => {
    return { rows: await askByWords(question, context), isSemantic: false, note };
  };
  const list = semantic.isWanted ? semanticList(question.query) : undefined;
  if (list === undefined) return await byWords();
  const state = await semantic.prepare(updates.index.status?.hasVectorIndex);
  if (!state.use) return await byWords(state);
  const [words = []] = lexicalLists(question.query);
  try {
    // The first list counts twice: it is the question.
    const lists = [list, ...words].slice(0, maxLists);
    return { rows: await runQuery(lists, question, context, true), isSemantic: true };
  } catch (error) {
    if (!(error instanceof QmdFailure)) throw error;
    return await byWords({ why: semantic.failed(error) });
  }
}

/** Once more if qmd did not know the collections: they are written again before. */
async function askByWords(question: QmdQuestion, context: QmdContext): Promise<QmdRow[]> {
  const calls = lexicalLists(question.query);
  const run = async (): Promise<QmdRow[]> =>
    interleave(await Promise.all(calls.map((lists) => runQuery(lists, question, context, false))));
  try {
    return await run();
  } catch (error) {
    const reason = error instanceof QmdFailure ? error.reason : undefined;
    if (reason !== "unknown_collection" && reason !== "config_broken") throw error;
    await context.updates.restoreCollections();
    return await run();
  }
}

async function runQuery(
  searches: readonly QmdSearch[],
  { collections, limit, signal }: QmdQuestion,
  { client, options }: QmdContext,
  usesModels: boolean,
): Promise<QmdRow[]> {
  const rerank = usesModels && options.rerank;
  return await client.query({
    searches,
    limit,
    collections: collections.map(({ name }) => name),
    rerank,
    ...(rerank && { candidateLimit: rerankCandidates }),
    deadlineMs: options.limits.timeoutMs ?? (usesModels ? semanticMs : lexicalMs),
    signal,
  });
}

function interleave(lists: readonly (readonly QmdRow[])[]): QmdRow[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const rows = Array.from({ length: longest }, (_, rank) => lists.flatMap((list) => list[rank] ?? [])).flat();
  const byFile = Map.groupBy(rows, ({ collection, path }) => `${collection}/${path}`);
  return [...byFile.values()].flatMap(([first]) => first ?? []);
}
