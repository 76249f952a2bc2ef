import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Memory, OpenMemoryOptions } from "@memslot/core";
import { answerTokens, placeTokens } from "@memslot/core/host";
import { openMemory } from "memslot";
import type { DataSet, Question, RetrievalSet } from "./datasets.ts";
import type { Answer } from "./plain-fts.ts";

/** What is asked the questions of a set. */
export interface Searcher {
  /** With a budget: as many results as it holds. */
  search(query: string, limit: number, maxTokens?: number): Promise<Answer[]> | Answer[];
  close(): Promise<void> | void;
}

/** Sums over questions; `recall` is the share of a question's evidence. */
export interface Tally {
  questions: number;
  first: number;
  recall6: number;
  recall10: number;
  snippet6: number;
  /** Evidence that stands in what is shown within 500 and 1,000 tokens, the places of results included. */
  shown500: number;
  shown1000: number;
}

/** Asks every question of a data set. The sums are by group of questions, and `all`. */
export async function tallies(
  dataSet: DataSet,
  open: (set: RetrievalSet) => Promise<Searcher>,
): Promise<Map<string, Tally>> {
  const result = new Map<string, Tally>();
  const add = (
    group: string,
    { six, ten, small, usual }: Record<"six" | "ten" | "small" | "usual", readonly Answer[]>,
    question: Question,
  ): void => {
    const tally = result.get(group) ?? {
      questions: 0,
      first: 0,
      recall6: 0,
      recall10: 0,
      snippet6: 0,
      shown500: 0,
      shown1000: 0,
    };
    const covers = (answer: Answer, place: Question["evidence"][number]): boolean =>
      answer.path === place.path &&
      (place.line === undefined || (answer.startLine <= place.line && answer.endLine >= place.line));
    const recall = (
      answers: readonly Answer[],
      more?: (answer: Answer, place: Question["evidence"][number]) => boolean,
    ): number =>
      question.evidence.filter((place) =>
        answers.some((answer) => covers(answer, place) && (more?.(answer, place) ?? true)),
      ).length / question.evidence.length;
    tally.questions++;
    tally.first += recall(six.slice(0, 1)) > 0 ? 1 : 0;
    tally.recall6 += recall(six);
    tally.recall10 += recall(ten);
    const isShown = (answer: Answer, place: Question["evidence"][number]): boolean =>
      answer.snippet.includes(place.text ?? "");
    tally.snippet6 += recall(six, isShown);
    tally.shown500 += recall(small, isShown);
    tally.shown1000 += recall(usual, isShown);
    result.set(group, tally);
  };
  for (const set of dataSet.sets) {
    const searcher = await open(set);
    try {
      for (const question of set.questions) {
        const six = await searcher.search(question.text, 6);
        const ten = await searcher.search(question.text, 10);
        const small = within(500, await searcher.search(question.text, budgetedResults, 500));
        const usual = within(1000, await searcher.search(question.text, budgetedResults, 1000));
        add("all", { six, ten, small, usual }, question);
        if (question.group !== "all") add(question.group, { six, ten, small, usual }, question);
      }
    } finally {
      await searcher.close();
    }
  }
  return result;
}

/** Results of an answer that is led by its budget. */
const budgetedResults = 12;

/** The first results that fit into a budget, the last of them cut to what is left of it. */
function within(tokens: number, results: readonly Answer[]): Answer[] {
  let left = tokens;
  return results.flatMap((result) => {
    left -= placeTokens;
    const text = answerTokens(result.snippet);
    const share = Math.max(0, Math.min(1, left / text));
    left -= text;
    return share === 0
      ? []
      : [{ ...result, snippet: result.snippet.slice(0, Math.floor(result.snippet.length * share)) }];
  });
}

/** A memory over the notes of a set, in a folder of its own, in keyword mode; `settings` are those of the configuration beside it. */
export async function openSet(set: RetrievalSet, settings: Readonly<Record<string, unknown>> = {}): Promise<Searcher> {
  const { memory, close } = await openNotes(set.files, settings);
  return { search: (query, maxResults, maxTokens) => memory.search(query, { maxResults, maxTokens }), close };
}

/** The memory itself; with `everywhere` its notes are also those outside of the places where an agent keeps them. */
export async function openNotes(
  files: ReadonlyMap<string, string>,
  settings: Readonly<Record<string, unknown>> = {},
  everywhere = false,
  {
    reranker,
    embeddings,
    query,
  }: Pick<OpenMemoryOptions, "reranker" | "embeddings"> & { query?: Readonly<Record<string, unknown>> } = {},
): Promise<{ memory: Memory; close: () => Promise<void> }> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-"));
  const workspaceDir = path.join(folder, "workspace");
  for (const [file, text] of files) {
    const target = path.join(workspaceDir, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  const memory = await openMemory({
    agentId: "bench",
    workspaceDir,
    reranker,
    embeddings,
    config: {
      ...settings,
      agents: {
        defaults: {
          memorySearch: {
            ...(embeddings === undefined && { provider: "none" }),
            store: { path: path.join(folder, "index.sqlite") },
            sync: { onSearch: false },
            ...(query && { query }),
            ...(everywhere && { extraPaths: [workspaceDir] }),
          },
        },
      },
    },
  });
  await memory.sync({ reason: "bench" });
  return {
    memory,
    async close() {
      await memory.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
