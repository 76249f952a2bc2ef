import path from "node:path";
import { benchConfidence } from "./confidence.ts";
import { type DataSet, loadCmrc, loadLocomo, loadQmdEval } from "./datasets.ts";
import { plainFts } from "./plain-fts.ts";
import { openSet, type Tally, tallies } from "./recall.ts";
import { printTable } from "../support/table.ts";
import { benchDiaries } from "./diary-retrieval.ts";
import { benchDocuments, benchVault } from "./vault-retrieval.ts";

/**
 * Measures, in keyword mode, how much of the known evidence is in the first results: in the range of lines (recall@k),
 * and in the text that an agent is shown (snippet recall@6). The baseline runs on the same questions. The vault and the
 * diaries of this repository are always there, the public sets if they are installed.
 */
export async function benchRetrieval(dataFolder: string | undefined): Promise<void> {
  await benchVault();
  await benchDocuments();
  await benchDiaries();
  const folder = dataFolder ?? path.join(import.meta.dirname, "../data");
  const found = [
    loadLocomo(path.join(folder, "locomo-dev")),
    loadCmrc(path.join(folder, "cmrc2018-dev")),
    loadQmdEval(path.join(folder, "qmd-eval")),
  ].filter((set) => set !== undefined);
  if (found.length === 0) {
    const problem = `no public data set in ${folder}: see bench/README.md for what goes there`;
    if (dataFolder !== undefined) throw new Error(problem);
    console.error(problem);
  }
  for (const dataSet of found) {
    await benchDataSet(dataSet);
    await benchConfidence(dataSet);
  }
}

async function benchDataSet(dataSet: DataSet): Promise<void> {
  const own = await tallies(dataSet, (set) => openSet(set));
  const plain = await tallies(dataSet, (set) => Promise.resolve(plainFts(set)));
  const groups = [...own.keys()];
  const share = (tally: Tally | undefined, read: (tally: Tally) => number): string =>
    tally ? (read(tally) / tally.questions).toFixed(3) : "";
  const measures: [string, (tally: Tally) => number][] = [
    ["hit@1", (tally) => tally.first],
    ["recall@6", (tally) => tally.recall6],
    ["recall@10", (tally) => tally.recall10],
    ["shown@6", (tally) => tally.snippet6],
    ["shown in 500 tokens", (tally) => tally.shown500],
    ["shown in 1,000", (tally) => tally.shown1000],
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
