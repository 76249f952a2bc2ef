import { describe, expect, test } from "vitest";
import { isSetAside, readVault, type Vault, type VaultQuestion } from "@memslot/bench/vault";
import { spanOf, vaultProblems } from "@memslot/bench/vault-check";

const vault = readVault();

describe("the vault of the bench", () => {
  test("has labels that hold", () => {
    expect(vaultProblems(vault)).toEqual([]);
  });

  test("is a plain folder of notes, long ones and those of one line", () => {
    const tops = new Set([...vault.notes.keys()].map((file) => file.split("/")[0]?.toLowerCase()));
    expect([...tops].filter((top) => ["memory.md", "user.md", "memory"].includes(top ?? ""))).toEqual([]);
    const lengths = [...vault.notes.values()].map((text) => text.trimEnd().split("\n").length);
    expect(lengths.length).toBeGreaterThan(240);
    expect(lengths.filter((length) => length >= 200).length).toBeGreaterThanOrEqual(3);
    expect(lengths.filter((length) => length === 1).length).toBeGreaterThan(20);
  });

  test("has days in at least fourteen months of several years, and weeks", () => {
    const days = [...vault.notes.keys()].flatMap((file) => /(\d{4}-\d{2})-\d{2}[^/]*$/.exec(file)?.[1] ?? []);
    expect(new Set(days).size).toBeGreaterThanOrEqual(14);
    expect(new Set(days.map((month) => month.slice(0, 4))).size).toBeGreaterThanOrEqual(3);
    expect([...vault.notes.keys()].filter((file) => /\d{4}-W\d{2}\.md$/.test(file)).length).toBeGreaterThan(5);
  });

  test("sets about half of the questions of every kind aside, by nothing but the id", () => {
    const kinds = Map.groupBy(vault.questions, (question) => question.kind);
    for (const [kind, questions] of kinds) {
      const share = questions.filter(isSetAside).length / questions.length;
      expect([kind, share > 0.25 && share < 0.75]).toEqual([kind, true]);
    }
    const ids = ["q001", "q002", "q003", "q004", "q005", "q006"];
    expect(ids.filter((id) => isSetAside({ id }))).toEqual(["q001", "q002"]);
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
    vaultProblems({ notes, questions: [{ ...good, ...change }] } satisfies Vault).filter((problem) =>
      problem.startsWith("a: "),
    );

  test("takes what is right", () => {
    expect(wrong({})).toEqual([]);
    expect(wrong({ kind: "typo", query: "hreon" })).toEqual([]);
    expect(wrong({ evidence: [{ path: "Heron.md", startLine: 4, endLine: 4 }] })).toEqual([]);
    expect(wrong({ kind: "time", query: "5 January", period: { since: "2024-01-01", until: "2024-01-07" } })).toEqual(
      [],
    );
    expect(wrong({ kind: "unanswerable", query: "owl", evidence: [] })).toEqual([]);
  });

  test.each<[string, Partial<VaultQuestion>, RegExp]>([
    ["a note that is not there", { evidence: [{ ...place, path: "Daily/2024-01-06.md" }] }, /no lines 5 to 5/],
    ["lines behind the end", { evidence: [{ ...place, endLine: 8 }] }, /no lines 5 to 8/],
    ["lines in the wrong order", { evidence: [{ ...place, endLine: 4 }] }, /no lines 5 to 4/],
    ["empty lines", { evidence: [{ ...place, startLine: 6, endLine: 6 }] }, /empty lines/],
    ["no evidence", { evidence: [] }, /0 pieces of evidence/],
    ["evidence of what is not answered", { kind: "unanswerable" }, /1 pieces of evidence/],
    ["a query of nothing", { query: " " }, /asks nothing/],
    ["an unknown language", { language: "tlh" }, /in no language/],
    ["words from elsewhere", { query: "owl" }, /no word of it/],
    ["a typo too far off", { kind: "typo", query: "hxxxon" }, /no word of it/],
    ["a time without its period", { kind: "time" }, /a period belongs/],
    ["a period of something else", { period: { since: "2024-01-05", until: "2024-01-05" } }, /a period belongs/],
    ["a note of before", { kind: "time", period: { since: "2024-01-06", until: "2024-02-06" } }, /is no note of/],
    ["a note of after", { kind: "time", period: { since: "2023-12-01", until: "2024-01-04" } }, /is no note of/],
    ["a period backwards", { kind: "time", period: { since: "2024-01-06", until: "2024-01-05" } }, /ends before/],
    ["evidence that is excluded", { kind: "exclusion", query: "heron -home" }, /holds home/],
    ["a day that is none", { now: "2024-13-01" }, /is no day/],
  ])("finds %s", (_name, change, problem) => {
    expect(wrong(change).join("\n")).toMatch(problem);
  });

  test("finds an id that is there twice, a question asked twice and a kind that is short", () => {
    const problems = vaultProblems({ notes, questions: [good, good] });
    expect(problems).toContain("a: the id is there twice");
    expect(problems).toContain("a: is asked twice");
    expect(problems).toContain("name: 2 questions instead of 50");
    expect(vaultProblems({ notes, questions: [{ ...good, kind: "riddle" }] })).toContain(
      "riddle: 1 questions instead of 0",
    );
  });

  test("knows the days of a note from its name, its week or its frontmatter", () => {
    const days = (file: string, text = ""): string[] | undefined => {
      const span = spanOf(file, text);
      return span && [span.from, span.to].map((each) => new Date(each * 86_400_000).toISOString().slice(0, 10));
    };
    expect(days("Daily/2024-12-24 Christmas Eve.md")).toEqual(["2024-12-24", "2024-12-24"]);
    expect(days("Daily/Weekly/2024-W01.md")).toEqual(["2024-01-01", "2024-01-07"]);
    expect(days("Daily/Weekly/2023-W31.md")).toEqual(["2023-07-31", "2023-08-06"]);
    expect(days("Daily/Weekly/2020-W53.md")).toEqual(["2020-12-28", "2021-01-03"]);
    expect(days("Heron.md", "---\ndate: 2024-03-01\n---\n")).toEqual(["2024-03-01", "2024-03-01"]);
    expect(days("Heron.md", "date: 2024-03-01\n")).toBeUndefined();
  });
});
