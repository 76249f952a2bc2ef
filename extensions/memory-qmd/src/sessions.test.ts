import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type MemoryLab, memoryLab } from "./test/memory-lab.ts";

const sources = { sources: ["memory", "sessions"] };
const key = "sk-proj-Zx8Qm2Lr7Tn4Vb9Kc3Wd6Hf1Jp5Sg0YtAeUi";

/** A transcript with a message for each text, as hosts write them. */
function writeSession(lab: MemoryLab, id: string, texts: readonly string[], daysAgo = 1): string {
  const folder = join(lab.stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  const lines = [
    { type: "session", version: 3, id, timestamp: "2026-03-01T09:00:00.000Z", cwd: "/" },
    ...texts.map((text, index) => ({
      type: "message",
      id: `m${index}`,
      parentId: null,
      timestamp: "2026-03-01T09:00:01.000Z",
      message: { role: index % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text }] },
    })),
  ];
  const file = join(folder, `${id}.jsonl`);
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  const seconds = Date.now() / 1000 - daysAgo * 86_400;
  utimesSync(file, seconds, seconds);
  return file;
}

describe("transcripts", () => {
  test("are found by qmd, with the lines of their own file and without secrets", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen near the mill.\n");
    writeSession(lab, "talk", [
      "Where did I put the accordion?",
      "You lent the accordion to Yusuf.",
      `My key is ${key}`,
    ]);
    const { memory, ask } = await lab.open({ memorySearch: sources });
    await memory.sync();
    const { results, report } = await ask("who has the accordion", { sources: ["sessions"] });
    expect(results.map(({ path, source }) => [path, source])).toEqual([["sessions/talk.jsonl", "sessions"]]);
    const [result] = results;
    expect([result?.startLine, result?.snippet]).toEqual([2, expect.stringContaining("lent the accordion to Yusuf")]);
    expect(report.state).toBe("ok");
    expect(lab.fake.calls("query")).toHaveLength(1);
    const exported = readdirSync(join(lab.folder, "sessions"));
    expect(exported).toHaveLength(1);
    expect(readFileSync(join(lab.folder, "sessions", exported[0] ?? ""), "utf8")).not.toContain(key);
    expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8")).not.toContain(key);
  });

  test("that go, go from the export and the answers too", async () => {
    const lab = memoryLab();
    const file = writeSession(lab, "talk", ["The accordion is with Yusuf."]);
    const { memory, ask } = await lab.open({ memorySearch: sources });
    await memory.sync();
    rmSync(file);
    await memory.sync();
    expect((await ask("accordion", { sources: ["sessions"] })).paths).toEqual([]);
    expect(readdirSync(join(lab.folder, "sessions"))).toEqual([]);
    expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8")).not.toContain("accordion");
  });

  test("that grow are found by what came to them, also after the memory was opened again", async () => {
    const lab = memoryLab();
    const texts = ["The accordion is with Yusuf."];
    writeSession(lab, "talk", texts, 2);
    const { memory, ask } = await lab.open({ memorySearch: sources });
    await memory.sync();
    writeSession(lab, "talk", [...texts, "And the trombone with Ada."], 1);
    await memory.sync();
    for (const word of ["accordion", "trombone"])
      expect((await ask(word, { sources: ["sessions"] })).paths).toEqual(["sessions/talk.jsonl"]);
    await memory.close();
    const again = await lab.open({ memorySearch: sources });
    expect((await again.ask("trombone", { sources: ["sessions"] })).paths).toEqual(["sessions/talk.jsonl"]);
  });

  test("that are older than retentionDays are left out, and exportDir is where the Markdown goes", async () => {
    const lab = memoryLab();
    writeSession(lab, "old", ["The accordion is with Yusuf."], 40);
    writeSession(lab, "new", ["The accordion is with Ada."], 1);
    const exportDir = join(lab.stateDir, "exported");
    const { memory, ask } = await lab.open({
      memorySearch: sources,
      qmd: { sessions: { enabled: true, retentionDays: 30, exportDir } },
    });
    await memory.sync();
    expect((await ask("accordion", { sources: ["sessions"] })).paths).toEqual(["sessions/new.jsonl"]);
    expect(readdirSync(exportDir)).toHaveLength(1);
    expect(existsSync(join(lab.folder, "sessions"))).toBe(false);
  });

  test("are of no use to a search that does not name them, which is said when the memory is opened", async () => {
    const lab = memoryLab();
    const { notices } = await lab.open({ qmd: { sessions: { enabled: true } } });
    // The notices of the options are told by the plugin itself.
    expect(notices).toEqual([]);
    const { noticesOf } = await import("./open-plugin.ts");
    const { readOptions } = await import("./settings/options.ts");
    const context = { settings: { sources: ["memory"] } } as unknown as Parameters<typeof noticesOf>[0];
    const told = noticesOf(context, readOptions({ sessions: { enabled: true }, mcporter: { enabled: true } }));
    expect(told.join("\n")).toMatch(/mcporter is not needed[^]*name "sessions" in memorySearch.sources/);
  });
});
