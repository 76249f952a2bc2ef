import { createHash } from "node:crypto";
import { diarists, makeDiary } from "@memslot/bench/diary";
import { isSetAside, type VaultQuestion } from "@memslot/bench/vault";
import { describe, expect, test } from "vitest";

const diaries = diarists.map(makeDiary);
const questions = diaries.flatMap((diary) => diary.questions);

describe("the diaries of the bench", () => {
  test("are the same in every run", () => {
    const all = diaries.map(({ notes, questions: asked }) => [[...notes], asked]);
    expect(createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 16)).toBe("9918e7bd14318d85");
    expect(JSON.stringify(makeDiary("mara"))).toBe(JSON.stringify(diaries[0]));
  });

  test("are 290 days with 150 questions, about half of them set aside by nothing but the id", () => {
    expect(diaries.map(({ notes }) => notes.size)).toEqual([130, 80, 80]);
    expect(diaries.map(({ questions: asked }) => asked.length)).toEqual([80, 35, 35]);
    expect(new Set(questions.map(({ id }) => id)).size).toBe(150);
    expect(new Set(questions.map(({ query, now }) => `${query} ${now}`)).size).toBe(150);
    const share = questions.filter(isSetAside).length / questions.length;
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });

  test("have labels that hold", () => {
    const problems = diaries.flatMap(({ notes, questions: asked }) =>
      asked.flatMap((question) => problemsOf(question, notes).map((problem) => `${question.id}: ${problem}`)),
    );
    expect(problems).toEqual([]);
  });
});

const dayIn = (file: string): string => /\d{4}-\d{2}-\d{2}/.exec(file)?.[0] ?? "";

function problemsOf(question: VaultQuestion, notes: ReadonlyMap<string, string>): string[] {
  const { kind, query, now, period, evidence } = question;
  const problems: string[] = [];
  const days = [...notes.keys()].map(dayIn);
  if (evidence.length === 0) problems.push("no evidence");
  for (const { path, startLine, endLine } of evidence) {
    const lines = (notes.get(path) ?? "").split("\n").slice(startLine - 1, endLine);
    if (lines.length !== endLine - startLine + 1 || lines.some((line) => line.trim() === "")) problems.push("no lines");
    const day = dayIn(path);
    if (period === undefined || day < period.since || day > period.until) problems.push(`${path} is of another time`);
  }
  if (kind !== "period" && (evidence.length !== 1 || period?.since !== period?.until)) problems.push("not of one day");
  if (now !== undefined && now <= (period?.until ?? "")) problems.push("asked before it is over");
  const isLatest = (length: number): boolean =>
    !days.some((day) => day > (period?.until ?? "") && day.slice(5, length) === period?.since.slice(5, length));
  if (now === undefined && !/20\d\d/.test(query) && !isLatest(kind === "period" ? 7 : 10))
    problems.push("another year is meant");
  return problems;
}
