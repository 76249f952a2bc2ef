import { diarists, makeDiary } from "../diary/diary.ts";
import type { Asked } from "./judge.ts";
import { askMemory, askPlain, halves, printGroups } from "./vault-retrieval.ts";

/** Measures, in keyword mode, whether the day that a question names comes first, in diaries whose days are much alike. */
export async function benchDiaries(): Promise<void> {
  const diaries = diarists.map(makeDiary);
  const own = await askDiaries();
  const plain = diaries.flatMap(askPlain);
  for (const [name, belongs] of halves)
    printGroups(
      `Diaries, ${name}: memslot, in brackets plain FTS5`,
      own.filter(belongs),
      plain.filter(belongs),
      ({ kind }) => kind,
      ["all that name a day", namesDay],
    );
  printGroups("Diaries by language, both halves", own, plain, ({ language }) => language, [
    "all that name a day",
    namesDay,
  ]);
}

/** What came of the questions of all diaries. */
export async function askDiaries(): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (const name of diarists) asked.push(...(await askMemory(makeDiary(name))));
  return asked;
}

export function namesDay({ question }: Asked): boolean {
  return question.kind !== "period";
}
