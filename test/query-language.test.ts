import { makeFakeQmd } from "@memslot/fakes/qmd";
import { afterwards } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { useHouse, withQmd } from "./support/temp-workspace.ts";
import { askIn, describeQueryLanguage, queryLanguage } from "./support/query-language.ts";
import { describeQuestionLanguage } from "./support/question-language.ts";

describeQueryLanguage("memory-core", "all");
for (const backend of ["memory-core by meaning", "memory-lancedb", "reference", "qmd"] as const)
  describeQueryLanguage(backend, "chosen");

describeQuestionLanguage("memory-core", "all");
for (const backend of ["memory-lancedb", "reference"] as const) describeQuestionLanguage(backend, "chosen");

test("in a group no filter reveals private notes: not by a result, a count, a reason or a day", async () => {
  const shared = {
    "shared/team.md": "The team ferry leaves at nine. #open\n",
    "shared/2025-02-01.md": "A team day.\n",
  };
  const secret = {
    "MEMORY.md": "The secret ferry leaves at noon. #hush\n",
    "memory/2024-01-01.md": "A secret ferry of the team.\n",
    "memory/hush/undated.md": "---\ntags: [open, hush]\n---\n\nA secret team and a secret ferry.\n",
  };
  const answersOf = async (notes: Record<string, string>): Promise<unknown[]> => {
    const house = useHouse(notes);
    const memory = await house.open({ memorySearch: { extraPaths: [house.at("shared")], sync: { watch: false } } });
    const answers: unknown[] = [];
    for (const [query, options] of queryLanguage.group) {
      const sessionKey = "agent:main:telegram:group:-100";
      const { paths, report } = await askIn(memory, query, { ...options, sessionKey });
      answers.push([query, paths, { ...report, timingsMs: undefined }]);
    }
    return answers;
  };
  const answers = await answersOf({ ...shared, ...secret });
  expect(answers).toEqual(await answersOf(shared));
  expect(JSON.stringify(answers)).not.toMatch(/MEMORY\.md|2024-01-01\.md|undated\.md/u);
  expect(JSON.stringify(answers)).toContain("2025-02-01.md");
});

test("of more notes than qmd's are read by themselves, what it finds is filtered, and the answer says that there may be more", async () => {
  const fake = makeFakeQmd();
  afterwards(() => fake.remove());
  const house = useHouse();
  for (let index = 0; index < 210; index++)
    house.write({ [`memory/${index}.md`]: `The otter of holt ${index}.${index % 70 === 0 ? " #rare" : ""}\n` });
  const memory = await house.open({ settings: withQmd(fake), memorySearch: { sync: { watch: false } } });
  await memory.sync();
  const filtered = await askIn(memory, "otter -holt");
  expect(filtered.paths).toEqual([]);
  expect(filtered.report).toMatchObject({ state: "degraded", filters: { excluded: ["holt"] } });
  expect(filtered.report.reason).toContain("only notes that qmd found were filtered: there may be more");
  const rare = await askIn(memory, "tag:rare");
  expect(rare.report.reason).toContain("only the newest notes were read");
  for (const query of ["otter path:memory/20 -holt", "otter"])
    expect((await askIn(memory, query)).report.state).toBe("ok");
  for (const query of ['path:memory/14 "holt 140"', "path:memory/14 tag:rare"])
    expect((await askIn(memory, query)).paths).toEqual(["140.md"]);
});
