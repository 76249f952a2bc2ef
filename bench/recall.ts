import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Memory, Reranker } from "@memslot/core";
import { openMemory } from "memslot";
import type { DataSet, Question, RetrievalSet } from "./datasets.ts";
import type { Answer } from "./plain-fts.ts";

/** What is asked the questions of a set. */
export interface Searcher {
  search(query: string, limit: number): Promise<Answer[]> | Answer[];
  close(): Promise<void> | void;
}

/** Sums over questions; `recall` is the share of a question's evidence. */
export interface Tally {
  questions: number;
  first: number;
  recall6: number;
  recall10: number;
  snippet6: number;
}

/** Asks every question of a data set. The sums are by group of questions, and `all`. */
export async function tallies(
  dataSet: DataSet,
  open: (set: RetrievalSet) => Promise<Searcher>,
): Promise<Map<string, Tally>> {
  const result = new Map<string, Tally>();
  const add = (group: string, six: readonly Answer[], ten: readonly Answer[], question: Question): void => {
    const tally = result.get(group) ?? { questions: 0, first: 0, recall6: 0, recall10: 0, snippet6: 0 };
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
    tally.snippet6 += recall(six, (answer, place) => answer.snippet.includes(place.text ?? ""));
    result.set(group, tally);
  };
  for (const set of dataSet.sets) {
    const searcher = await open(set);
    try {
      for (const question of set.questions) {
        const six = await searcher.search(question.text, 6);
        const ten = await searcher.search(question.text, 10);
        add("all", six, ten, question);
        if (question.group !== "all") add(question.group, six, ten, question);
      }
    } finally {
      await searcher.close();
    }
  }
  return result;
}

/** A memory over the notes of a set, in a folder of its own, in keyword mode; `settings` are those of the configuration beside it. */
export async function openSet(set: RetrievalSet, settings: Readonly<Record<string, unknown>> = {}): Promise<Searcher> {
  const { memory, close } = await openNotes(set.files, settings);
  return { search: (query, limit) => memory.search(query, { maxResults: limit }), close };
}

/** The memory itself; with `everywhere` its notes are also those outside of the places where an agent keeps them. */
export async function openNotes(
  files: ReadonlyMap<string, string>,
  settings: Readonly<Record<string, unknown>> = {},
  everywhere = false,
  { reranker, query }: { reranker?: Reranker | undefined; query?: Readonly<Record<string, unknown>> } = {},
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
    config: {
      ...settings,
      agents: {
        defaults: {
          memorySearch: {
            provider: "none",
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
