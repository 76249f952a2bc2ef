import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { beforeAll, describe, expect, test } from "vitest";
import { type MemoryLab, memoryLab, type OpenedMemory, qmdStatus, writeSession } from "./test/memory-lab.ts";

const group = "agent:main:telegram:group:-100";
const key = "sk-proj-Zx8Qm2Lr7Tn4Vb9Kc3Wd6Hf1Jp5Sg0YtAeUi";
const names = "a b.md|über uns.md|c#.md|r&d.md|c++.md|100%.md|[x].md|{y}.md|笔记.md|what?.md".split("|");

describe("a search", () => {
  let lab: MemoryLab;
  let opened: OpenedMemory;
  let file: string;

  beforeAll(async () => {
    lab = memoryLab();
    const shared = tempFolder();
    const filler = Array.from({ length: 60 }, (_, line) => `Line ${line} tells of the weather and of the way home.`);
    lab.write("memory/long.md", ["# Long", ...filler, "The lynx drinks at the pond.", ...filler].join("\n"));
    const part = (word: string): string =>
      `## ${word}\n\n${"Some words about the day. ".repeat(60)}\nThe ibex and the ${word}.\n`;
    lab.write("memory/parts.md", ["fence", "pond", "barn"].map(part).join("\n"));
    for (const name of names) lab.write(`memory/${name}`, `The walrus is in ${name}.\n`);
    lab.write("memory/piano.md", "女儿的钢琴课改到周六上午，老师姓赵。\n");
    lab.write("memory/knee.md", "周三下午三点去仁济医院复查膝盖。\n");
    for (let index = 0; index < 8; index++)
      lab.write(`memory/wolf/${index}.md`, `The wolf ${index}. ${"It rained. ".repeat(40)}\n`);
    for (let index = 0; index < 40; index++) lab.write(`memory/heron/${index}.md`, `The heron heron heron ${index}.\n`);
    for (let index = 0; index < 210; index++)
      writeFiles(shared, { [`deep/${index}.md`]: `The heron nests, ${index}.\n` });
    const asked = "Where did I put the accordion?";
    file = writeSession(lab, "talk", [asked, "You lent the accordion to Yusuf.", `My key is ${key}`]);
    opened = await lab.open({
      memorySearch: { sources: ["memory", "sessions"] },
      qmd: { paths: [{ path: shared, name: "Shared notes" }] },
    });
    await opened.memory.sync();
  });

  test("asks qmd for the files and finds lines and words in them itself", async () => {
    const { results, report } = await opened.ask("where does the lynx drink?");
    expect(new Set(results.map(({ path }) => path))).toEqual(new Set(["memory/long.md"]));
    const [result] = results;
    expect(result?.startLine).toBeLessThanOrEqual(62);
    expect(result?.endLine).toBeGreaterThanOrEqual(62);
    expect(result?.snippet).toContain("The lynx drinks at the pond.");
    expect(result?.textScore).toBe(result?.score);
    expect(report).toMatchObject({ backend: "memory-qmd", mode: "keyword", state: "ok" });
    const call = lab.fake.calls("query").at(-1);
    expect(call?.arguments["rerank"]).toBe(false);
    expect(call?.arguments["searches"]).toEqual([
      { type: "lex", query: "lynx drink" },
      { type: "lex", query: "lynx" },
      { type: "lex", query: "drink" },
    ]);
  });

  test("returns several passages of one file", async () => {
    const { results } = await opened.ask("ibex", { maxResults: 10, minScore: 0 });
    const text = results.map(({ snippet }) => snippet).join("\n");
    for (const word of ["fence", "pond", "barn"]) expect(text).toContain(`The ibex and the ${word}.`);
    expect(results.flatMap(({ lines = [] }) => lines)).toHaveLength(4);
  });

  test("finds notes with any name", async () => {
    const { results } = await opened.ask("walrus", { maxResults: 50, minScore: 0 });
    const found = results.map(({ path }) => path.normalize("NFC"));
    expect(found.toSorted()).toEqual(names.map((name) => `memory/${name}`).toSorted());
  });

  test("finds the answer to a question in Chinese, which is no phrase of the note", async () => {
    expect((await opened.ask("钢琴课改到哪一天上午了？")).paths).toEqual(["memory/piano.md"]);
  });

  test("for symbols alone is empty and asks qmd for nothing", async () => {
    const before = lab.fake.calls("query").length;
    for (const query of ["!!!", "🙂", '"', "--", "*"]) expect((await opened.ask(query)).results).toEqual([]);
    expect(lab.fake.calls("query")).toHaveLength(before);
  });

  test("for a term with no match is empty, and that is no failure of qmd", async () => {
    const { results, report } = await opened.ask("qzxvwkjpf");
    expect([results, report.state]).toEqual([[], "ok"]);
    expect(qmdStatus(opened)["lastError"]).toBeUndefined();
    expect(lab.fake.starts("query")).toEqual([]);
  });

  test("of a shared session has qmd search the extra paths alone, and private notes take no place from theirs", async () => {
    const { results } = await opened.ask("heron", { sessionKey: group, maxResults: 5 });
    expect(results).toHaveLength(5);
    expect(results.every(({ snippet }) => snippet.includes("nests"))).toBe(true);
    expect(lab.fake.calls("query").at(-1)?.arguments["collections"]).toEqual(["shared-notes"]);
  });

  test("returns at most maxResults of the configuration, whatever the caller asks for", async () => {
    const { ask } = await lab.open({ qmd: { limits: { maxResults: 3 }, update: { onBoot: false } } });
    expect((await ask("wolf")).results).toHaveLength(3);
    expect((await ask("wolf", { maxResults: 2 })).results).toHaveLength(2);
    expect((await ask("wolf", { maxResults: 8 })).results).toHaveLength(3);
  });

  test("cuts snippets by maxSnippetChars and the list by maxInjectedChars, and reports it", async () => {
    const limits = { maxSnippetChars: 80, maxInjectedChars: 170 };
    const { ask } = await lab.open({ qmd: { limits, update: { onBoot: false } } });
    const { results, report } = await ask("wolf", { maxResults: 6 });
    for (const { snippet } of results) expect(snippet.length).toBeLessThanOrEqual(80);
    expect(results).toHaveLength(2);
    expect(report.dropped.limit).toBe(6);
    expect(report.legs.keyword?.kept).toBe(2);
  });

  test("that memory.qmd.scope refuses is empty with the reason, and qmd is not asked", async () => {
    const scope = { default: "deny", rules: [{ action: "allow", match: { chatType: "direct" } }] };
    const { ask } = await lab.open({ qmd: { scope, update: { onBoot: false } } });
    const before = lab.fake.calls("query").length;
    const refused = await ask("lynx", { sessionKey: group });
    expect([refused.results, refused.report.state]).toEqual([[], "ok"]);
    expect(refused.report.reason).toMatch(/memory\.qmd\.scope/);
    expect(lab.fake.calls("query")).toHaveLength(before);
    expect((await ask("lynx", { sessionKey: "agent:main:telegram:direct:42" })).paths).toContain("memory/long.md");
  });

  test("finds transcripts, with the lines of their own file and without secrets, until they are deleted", async () => {
    const { results, report } = await opened.ask("who has the accordion", { sources: ["sessions"] });
    expect(results.map(({ path, source }) => [path, source])).toEqual([["sessions/talk.jsonl", "sessions"]]);
    const [result] = results;
    expect([result?.startLine, result?.snippet]).toEqual([2, expect.stringContaining("lent the accordion to Yusuf")]);
    expect(report.state).toBe("ok");
    const exported = readdirSync(join(lab.folder, "sessions"));
    expect(exported).toHaveLength(1);
    const index = (): string => readFileSync(join(lab.folder, "index.sqlite"), "utf8");
    for (const text of [readFileSync(join(lab.folder, "sessions", exported[0] ?? ""), "utf8"), index()])
      expect(text).not.toContain(key);
    rmSync(file);
    await opened.memory.sync();
    expect((await opened.ask("accordion", { sources: ["sessions"] })).paths).toEqual([]);
    expect(readdirSync(join(lab.folder, "sessions"))).toEqual([]);
    expect(index()).not.toContain("accordion");
  });
});
