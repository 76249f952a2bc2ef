import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { openMemory } from "memslot";
import { type DataSet, loadCmrc, loadLocomo, loadQmdEval, type Question, type RetrievalSet } from "./datasets.ts";
import { type Answer, plainFts } from "./plain-fts.ts";
import { printTable } from "./table.ts";

interface Searcher {
  search(query: string, limit: number): Promise<Answer[]> | Answer[];
  close(): Promise<void> | void;
}

interface Tally {
  questions: number;
  first: number;
  recall6: number;
  recall10: number;
  snippet6: number;
}

/**
 * Measures, in keyword mode, how much of the known evidence is in the first results: in the range of lines (recall@k),
 * and in the text that an agent is shown (snippet recall@6). The baseline runs on the same questions.
 */
export async function benchRetrieval(dataFolder: string): Promise<void> {
  const found = [
    loadLocomo(path.join(dataFolder, "locomo-dev")),
    loadCmrc(path.join(dataFolder, "cmrc2018-dev")),
    loadQmdEval(path.join(dataFolder, "qmd-eval")),
  ].filter((set) => set !== undefined);
  if (found.length === 0) throw new Error(`no data set in ${dataFolder}: see bench/README.md for what goes there`);
  for (const dataSet of found) await benchDataSet(dataSet);
}

async function benchDataSet(dataSet: DataSet): Promise<void> {
  const own = await tallies(dataSet, openSet);
  const plain = await tallies(dataSet, (set) => Promise.resolve(plainFts(set)));
  const groups = [...own.keys()];
  const share = (tally: Tally | undefined, read: (tally: Tally) => number): string =>
    tally ? (read(tally) / tally.questions).toFixed(3) : "";
  const measures: [string, (tally: Tally) => number][] = [
    ["hit@1", (tally) => tally.first],
    ["recall@6", (tally) => tally.recall6],
    ["recall@10", (tally) => tally.recall10],
    ["snippet@6", (tally) => tally.snippet6],
  ];
  printTable(
    `${dataSet.name}: memslot, in brackets plain FTS5`,
    ["", "questions", ...measures.map(([name]) => name)],
    groups.map((group) => [
      group,
      String(own.get(group)?.questions),
      ...measures.map(([, read]) => `${share(own.get(group), read)} (${share(plain.get(group), read)})`),
    ]),
  );
}

async function tallies(dataSet: DataSet, open: (set: RetrievalSet) => Promise<Searcher>): Promise<Map<string, Tally>> {
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

async function openSet(set: RetrievalSet): Promise<Searcher> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-"));
  const workspaceDir = path.join(folder, "workspace");
  for (const [file, text] of set.files) {
    const target = path.join(workspaceDir, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  const memory = await openMemory({
    agentId: "bench",
    workspaceDir,
    config: {
      agents: {
        defaults: {
          memorySearch: {
            provider: "none",
            store: { path: path.join(folder, "index.sqlite") },
            sync: { onSearch: false },
          },
        },
      },
    },
  });
  await memory.sync({ reason: "bench" });
  return {
    search: (query, limit) => memory.search(query, { maxResults: limit }),
    async close() {
      await memory.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
