import { describe, expect, test } from "vitest";
import { memoryLab, qmdStatus } from "./test/memory-lab.ts";

const lynx = "# Wild\n\nThe lynx was seen near the old mill.\n";

describe("a search", () => {
  test("asks qmd for the files and finds lines and words in them itself", async () => {
    const lab = memoryLab();
    const filler = Array.from({ length: 60 }, (_, line) => `Line ${line} tells of the weather and of the way home.`);
    lab.write("memory/long.md", ["# Long", ...filler, "The lynx drinks at the pond.", ...filler].join("\n"));
    lab.write("memory/other.md", "Nothing of it here.\n");
    const { memory, ask } = await lab.open();
    await memory.sync();
    const { results, report } = await ask("where does the lynx drink?");
    expect(results.map(({ path }) => path)).toEqual(["memory/long.md"]);
    const [result] = results;
    expect(result?.startLine).toBeLessThanOrEqual(62);
    expect(result?.endLine).toBeGreaterThanOrEqual(62);
    expect(result?.snippet).toContain("The lynx drinks at the pond.");
    expect(result?.textScore).toBe(result?.score);
    expect(report).toMatchObject({ backend: "memory-qmd", mode: "keyword", state: "ok" });
    const [call] = lab.fake.calls("query");
    expect(call?.arguments["rerank"]).toBe(false);
    expect(call?.arguments["searches"]).toEqual([
      { type: "lex", query: "lynx drink" },
      { type: "lex", query: "lynx" },
      { type: "lex", query: "drink" },
    ]);
  });

  test("gives several places of one file", async () => {
    const lab = memoryLab();
    const part = (word: string): string =>
      `## ${word}\n\n${"Some words about the day. ".repeat(60)}\nThe lynx and the ${word}.\n`;
    lab.write("memory/a.md", ["fence", "pond", "barn"].map(part).join("\n"));
    const { memory, ask } = await lab.open();
    await memory.sync();
    const { results } = await ask("lynx", { maxResults: 10, minScore: 0 });
    const text = results.map(({ snippet }) => snippet).join("\n");
    for (const word of ["fence", "pond", "barn"]) expect(text).toContain(`The lynx and the ${word}.`);
    expect(results.flatMap(({ lines = [] }) => lines)).toHaveLength(3);
  });

  test("keeps right answers that qmd gives a score of 0", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx);
    const { memory, ask } = await lab.open();
    await memory.sync();
    // In an index of one note every word stands in more than half of all.
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("finds notes with any name", async () => {
    const lab = memoryLab();
    const names = [
      "a b.md",
      "über uns.md",
      "c#.md",
      "r&d.md",
      "c++.md",
      "100%.md",
      "[x].md",
      "{y}.md",
      "笔记.md",
      "what?.md",
    ];
    for (const name of names) lab.write(`memory/${name}`, `The walrus is in ${name}.\n`);
    const { memory, ask } = await lab.open();
    await memory.sync();
    const { results } = await ask("walrus", { maxResults: 50, minScore: 0 });
    expect(results.map(({ path }) => path.normalize("NFC")).toSorted()).toEqual(
      names.map((name) => `memory/${name}`).toSorted(),
    );
  });

  test("of symbols alone is empty and starts nothing", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx);
    const { memory, ask } = await lab.open();
    await memory.sync();
    const before = lab.fake.calls("query").length;
    for (const query of ["!!!", "🙂", '"', "--", "*"]) expect((await ask(query)).results).toEqual([]);
    expect(lab.fake.calls("query")).toHaveLength(before);
  });

  test("of a word that stands nowhere is empty, and that is no failure of qmd", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx);
    const opened = await lab.open();
    await opened.memory.sync();
    const { results, report } = await opened.ask("qzxvwkjpf");
    expect([results, report.state]).toEqual([[], "ok"]);
    expect(qmdStatus(opened)["lastError"]).toBeUndefined();
    expect(lab.fake.starts("query")).toEqual([]);
  });

  test("finds an answer to a question in Chinese, which is no phrase of the note", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "女儿的钢琴课改到周六上午，老师姓赵。\n");
    lab.write("memory/b.md", "周三下午三点去仁济医院复查膝盖。\n");
    const { memory, ask } = await lab.open();
    await memory.sync();
    expect((await ask("钢琴课改到哪一天上午了？")).paths).toEqual(["memory/a.md"]);
  });

  test("of two words gives the same list whether qmd has read the notes or not", async () => {
    const lab = memoryLab();
    for (let index = 0; index < 12; index++)
      lab.write(`memory/${index}.md`, `The boiler was serviced in October, entry ${index}. ${"Dry. ".repeat(index)}\n`);
    const first = await lab.open({ memorySearch: { sync: { onSearch: true } }, qmd: { update: { onBoot: false } } });
    const own = await first.ask("boiler October", { maxResults: 20 });
    expect(lab.fake.starts()).toEqual([]);
    await first.memory.sync();
    const asked = await first.ask("boiler October", { maxResults: 20 });
    expect(lab.fake.calls("query")).toHaveLength(1);
    expect(asked.results).toEqual(own.results);
  });
});

describe("limits", () => {
  async function openMany(limits: Readonly<Record<string, number>>) {
    const lab = memoryLab();
    for (let index = 0; index < 8; index++)
      lab.write(`memory/${index}.md`, `The lynx ${index}. ${"It rained. ".repeat(40)}\n`);
    const opened = await lab.open({ qmd: { limits } });
    await opened.memory.sync();
    return opened;
  }

  test("maxResults is a ceiling over what is asked for", async () => {
    const { ask } = await openMany({ maxResults: 3 });
    expect((await ask("lynx")).results).toHaveLength(3);
    expect((await ask("lynx", { maxResults: 2 })).results).toHaveLength(2);
    expect((await ask("lynx", { maxResults: 8 })).results).toHaveLength(3);
  });

  test("maxSnippetChars cuts snippets, maxInjectedChars the list, which is told", async () => {
    const short = await openMany({ maxSnippetChars: 80 });
    for (const { snippet } of (await short.ask("lynx")).results) expect(snippet.length).toBeLessThanOrEqual(80);
    const few = await openMany({ maxSnippetChars: 80, maxInjectedChars: 170 });
    const { results, report } = await few.ask("lynx", { maxResults: 6 });
    expect(results).toHaveLength(2);
    expect(report.dropped.limit).toBe(6);
    expect(report.legs.keyword?.kept).toBe(2);
  });
});
