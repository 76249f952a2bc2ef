import { createHash } from "node:crypto";
import { diarists, makeDiary } from "@memslot/bench/diary";
import { documentSets, readDocuments } from "@memslot/bench/documents";
import { describe, expect, test } from "vitest";
import faults from "./data/vault-faults.json" with { type: "json" };
import { handbooksFolder, isSetAside, readVault, readWholeVault, type VaultQuestion } from "@memslot/bench/vault";
import { handbookCounts, vaultProblems } from "@memslot/bench/vault-check";

const [vault, handbooks, whole] = [readVault(), readVault(handbooksFolder), readWholeVault()];

describe("the vault of the bench", () => {
  test("has labels that hold, and so do its handbooks, which share no path and no id with it", () => {
    expect(vaultProblems(vault)).toEqual([]);
    expect(vaultProblems(handbooks, handbookCounts)).toEqual([]);
    for (const name of documentSets) expect(vaultProblems(readDocuments(name), "any")).toEqual([]);
    expect(whole.notes.size).toBe(vault.notes.size + handbooks.notes.size);
    expect(new Set(whole.questions.map(({ id }) => id)).size).toBe(600);
  });

  test("sets about half of the questions of every kind aside, by nothing but the id", () => {
    for (const { questions } of [vault, handbooks])
      for (const [kind, asked] of Map.groupBy(questions, (question) => question.kind)) {
        const share = asked.filter(isSetAside).length / asked.length;
        expect([kind, share > 0.25 && share < 0.75]).toEqual([kind, true]);
      }
    expect([1, 2, 3, 4, 5, 6].filter((number) => isSetAside({ id: `q00${number}` }))).toEqual([1, 2]);
  });
});

describe("the check of its labels", () => {
  const day = "Daily/2024-01-05.md";
  const notes = new Map([
    [day, "---\ntags: [work]\n---\n\nThe quick heron.\n\nWent home.\n"],
    ["Heron.md", "---\ndate: 2024-03-01\n---\nIt stands.\n"],
  ]);
  const place = { path: day, startLine: 5, endLine: 5 };
  const good: VaultQuestion = { id: "a", kind: "name", language: "en", query: "heron", evidence: [place] };
  const wrong = (change: Partial<VaultQuestion>): string[] =>
    vaultProblems({ notes, questions: [{ ...good, ...change }] }).filter((problem) => problem.startsWith("a: "));

  test.each(faults as [string, Partial<VaultQuestion>, string][])("finds %s", (_name, change, problem) => {
    expect(wrong(change).join("\n")).toContain(problem);
  });
});

const diaries = diarists.map(makeDiary);

describe("the diaries of the bench", () => {
  test("are the same in every run", () => {
    const all = diaries.map(({ notes, questions: asked }) => [[...notes], asked]);
    expect(createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 16)).toBe("9918e7bd14318d85");
    expect(JSON.stringify(makeDiary("mara"))).toBe(JSON.stringify(diaries[0]));
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
