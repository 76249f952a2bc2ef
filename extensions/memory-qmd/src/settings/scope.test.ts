import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { maySearch, type ScopeSettings } from "./scope-rules.ts";
import { memoryLab } from "../test/memory-lab.ts";
import { tempFolder } from "../process/test/qmd-lab.ts";

const direct = "agent:main:telegram:direct:42";
const group = "agent:main:telegram:group:-100";

describe("memory.qmd.scope", () => {
  const rule = (action: "allow" | "deny", match?: NonNullable<ScopeSettings["rules"][number]["match"]>) => ({
    action,
    match,
  });
  const cases: [string, ScopeSettings | undefined, string | undefined, boolean][] = [
    ["nothing written lets everybody", undefined, group, true],
    ["no session key is the owner", { default: "deny", rules: [] }, undefined, true],
    ["the default holds where no rule fits", { default: "deny", rules: [] }, direct, false],
    ["a kind of chat", { default: "deny", rules: [rule("allow", { chatType: "direct" })] }, direct, true],
    [
      "a main session is a direct one",
      { default: "deny", rules: [rule("allow", { chatType: "direct" })] },
      "main",
      true,
    ],
    ["another kind of chat", { default: "deny", rules: [rule("allow", { chatType: "direct" })] }, group, false],
    ["a channel", { default: "deny", rules: [rule("allow", { channel: "Telegram" })] }, group, true],
    [
      "the beginning of the key",
      { default: "allow", rules: [rule("deny", { keyPrefix: "telegram:group:" })] },
      group,
      false,
    ],
    [
      "the beginning of the whole key",
      { default: "allow", rules: [rule("deny", { rawKeyPrefix: "agent:main:" })] },
      group,
      false,
    ],
    [
      "the first rule that fits",
      { default: "deny", rules: [rule("deny", { channel: "telegram" }), rule("allow")] },
      direct,
      false,
    ],
    [
      "all that is written has to fit",
      { default: "deny", rules: [rule("allow", { channel: "telegram", chatType: "group" })] },
      direct,
      false,
    ],
    ["a subagent fits no rule", { default: "deny", rules: [rule("allow")] }, "agent:main:subagent:7", false],
  ];
  test.each(cases)("%s", (_name, settings, key, allowed) => {
    expect(maySearch(settings, key)).toBe(allowed);
  });

  test("refuses with an empty list and the reason, and asks nobody", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen.\n");
    const scope = { default: "deny", rules: [{ action: "allow", match: { chatType: "direct" } }] };
    const { memory, ask } = await lab.open({ qmd: { scope } });
    await memory.sync();
    const refused = await ask("lynx", { sessionKey: group });
    expect([refused.results, refused.report.state]).toEqual([[], "ok"]);
    expect(refused.report.reason).toMatch(/memory\.qmd\.scope/);
    expect(lab.fake.calls("query")).toEqual([]);
    expect((await ask("lynx", { sessionKey: direct })).paths).toEqual(["memory/a.md"]);
  });
});

describe("a shared session", () => {
  test("has qmd look into the extra paths alone, and private notes take no place from theirs", async () => {
    const lab = memoryLab();
    const shared = tempFolder("memslot-shared-");
    for (let index = 0; index < 40; index++) lab.write(`memory/${index}.md`, `The heron heron heron ${index}.\n`);
    mkdirSync(join(shared, "deep"));
    const share = (from: number, to: number): void => {
      for (let index = from; index < to; index++)
        writeFileSync(join(shared, `deep/${index}.md`), `The heron nests, ${index}.\n`);
    };
    share(0, 30);
    const { memory, ask } = await lab.open({ qmd: { paths: [{ path: shared, name: "Shared notes" }] } });
    await memory.sync();
    const { results, report } = await ask("heron", { sessionKey: group, maxResults: 5 });
    expect(results).toHaveLength(5);
    expect(results.every(({ snippet }) => snippet.includes("nests"))).toBe(true);
    expect(report.state).toBe("ok");
    // Few are read here: the order in which qmd finds them is made of private words too.
    expect(lab.fake.calls("query")).toEqual([]);
    share(30, 210);
    await memory.sync();
    const more = await ask("heron", { sessionKey: group, maxResults: 5 });
    expect(more.results.every(({ snippet }) => snippet.includes("nests"))).toBe(true);
    expect(lab.fake.calls("query")[0]?.arguments["collections"]).toEqual(["shared-notes"]);
  });
});

describe("what is searched", () => {
  test("paths with a pattern are, and the workspace is not where includeDefaultMemory is false", async () => {
    const lab = memoryLab();
    const more = tempFolder("memslot-more-");
    mkdirSync(join(more, "sub"));
    writeFileSync(join(more, "sub/a.md"), "The heron nests.\n");
    writeFileSync(join(more, "b.md"), "The heron does not.\n");
    lab.write("MEMORY.md", "The heron is secret.\n");
    lab.write("memory/work/c.md", "The heron works.\n");
    lab.write("memory/d.md", "The heron rests.\n");
    const { memory, ask } = await lab.open({
      qmd: { includeDefaultMemory: false, paths: [{ path: more, pattern: "sub/**" }, { path: "memory/work" }] },
    });
    expect(await memory.sync()).toMatchObject({ added: 2 });
    const { results } = await ask("heron", { maxResults: 20 });
    expect(results.map(({ snippet }) => snippet.trim()).toSorted()).toEqual(["The heron nests.", "The heron works."]);
    const root = memory.status().roots?.find(({ path }) => path === "MEMORY.md");
    expect(root).toMatchObject({ state: "skipped", reason: "memory.qmd.includeDefaultMemory is false" });
  });

  test("a single file as a path is", async () => {
    const lab = memoryLab();
    const more = tempFolder("memslot-more-");
    writeFileSync(join(more, "one (1).md"), "The heron nests.\n");
    writeFileSync(join(more, "two.md"), "The heron rests.\n");
    const { memory, ask } = await lab.open({ qmd: { paths: [{ path: join(more, "one (1).md") }] } });
    await memory.sync();
    expect((await ask("heron")).results.map(({ snippet }) => snippet.trim())).toEqual(["The heron nests."]);
  });
});
