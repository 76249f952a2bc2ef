import { join } from "node:path";
import { MemoryError, openMemory, parseConfig } from "@memslot/core";
import { createWorkspace, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import plugin from "./index.ts";
import { noticesOf } from "./open-memory.ts";
import { errorOf, memoryLab } from "./test/memory-lab.ts";
import { type Collection, collectionsOf, everyNote } from "./update/collections.ts";
import { maySearch, processLimits, readDuration, readOptions, type ScopeSettings } from "./options.ts";
import cases from "../test/data/cases.json" with { type: "json" };

describe("durations", () => {
  test.each(cases.durations as [string | number, number][])("%j are %i ms", (written, milliseconds) => {
    expect(readDuration(written)).toBe(milliseconds);
  });

  test.each(["soon", "5", "m", "5m later", ""])("%j is refused by its key", async (written) => {
    const { message } = await errorOf(memoryLab().open({ qmd: { update: { interval: written } } }));
    expect(message).toBe(
      'plugins.entries.memory-qmd.config.update.interval must be written as "5m" or "90s" or "1h30m" or "0"',
    );
  });
});

describe("memory.qmd", () => {
  test("refuses a folder below the home folder where nothing expands the tilde", async () => {
    const { message } = await errorOf(memoryLab().open({ qmd: { sessions: { exportDir: "~/out" } } }));
    expect(message).toContain("config.sessions.exportDir must be written as");
  });

  test("accepts all keys, and a wrong one is named", async () => {
    expect((await memoryLab().open({ qmd: cases.allSettings })).memory.status().backend).toBe("memory-qmd");
    const { workspaceDir, stateDir } = createWorkspace();
    const qmd = { searchmode: "search", fallback: "none" };
    const written = { memory: { backend: "qmd", qmd }, agents: { defaults: { workspace: workspaceDir } } };
    const config = parseConfig(written, { stateDir });
    const error = await errorOf(openMemory({ config, agentId: "main", plugins: [plugin] }));
    expect(MemoryError.is(error, "CONFIG")).toBe(true);
    expect(error.message).toMatch(/searchmode.*did you mean "searchMode"/);
  });

  test("waitForBootSync has the notes in qmd when the memory is open, and a right answer with a score of 0 is kept", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen.\n");
    const { ask } = await lab.open({ qmd: { update: { waitForBootSync: true } } });
    expect(lab.fake.starts("update")).toHaveLength(1);
    // In an index of one note every word is in more than half of all: qmd gives it 0.
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
    expect(lab.fake.calls("query")).toHaveLength(1);
  });

  test("limits apply to the processes", () => {
    const update = { updateTimeoutMs: 5000, commandTimeoutMs: 700 };
    expect(processLimits(readOptions({ update, limits: { timeoutMs: 900 } }))).toEqual(cases.processLimits);
    expect(processLimits(readOptions({}))).toEqual({});
  });

  test("that exports transcripts which no search names gives a notice", () => {
    const context = { settings: { sources: ["memory"] } } as unknown as Parameters<typeof noticesOf>[0];
    const notices = noticesOf(context, readOptions({ sessions: { enabled: true }, mcporter: { enabled: true } }));
    expect(notices.join("\n")).toMatch(/mcporter is not needed[^]*name "sessions" in memorySearch.sources/);
  });
});

describe("memory.qmd.scope", () => {
  const direct = "agent:main:telegram:direct:42";
  const group = "agent:main:telegram:group:-100";
  const rule = (action: "allow" | "deny", match?: NonNullable<ScopeSettings["rules"][number]["match"]>) => ({
    action,
    match,
  });
  const deny = (...rules: ScopeSettings["rules"]): ScopeSettings => ({ default: "deny", rules });
  const allow = (...rules: ScopeSettings["rules"]): ScopeSettings => ({ default: "allow", rules });

  test.each<[string, ScopeSettings | undefined, string | undefined, boolean]>([
    ["no settings allow everybody", undefined, group, true],
    ["no session key is the owner", deny(), undefined, true],
    ["the default applies where no rule matches", deny(), direct, false],
    ["a kind of chat", deny(rule("allow", { chatType: "direct" })), direct, true],
    ["a main session is a direct one", deny(rule("allow", { chatType: "direct" })), "main", true],
    ["another kind of chat", deny(rule("allow", { chatType: "direct" })), group, false],
    ["a channel", deny(rule("allow", { channel: "Telegram" })), group, true],
    ["the beginning of the key", allow(rule("deny", { keyPrefix: "telegram:group:" })), group, false],
    ["the beginning of the whole key", allow(rule("deny", { rawKeyPrefix: "agent:main:" })), group, false],
    ["the first rule that matches", deny(rule("deny", { channel: "telegram" }), rule("allow")), direct, false],
    ["all conditions of a rule", deny(rule("allow", { channel: "telegram", chatType: "group" })), direct, false],
    ["a subagent matches no rule", deny(rule("allow")), "agent:main:subagent:7", false],
  ])("%s", (_name, settings, sessionKey, allowed) => {
    expect(maySearch(settings, sessionKey)).toBe(allowed);
  });
});

describe("what is searched", () => {
  test("paths with a pattern and single files are, and the workspace is not where includeDefaultMemory is false", async () => {
    const lab = memoryLab();
    const more = tempFolder(cases.patternNotes);
    lab.write("MEMORY.md", "The heron is secret.\n");
    lab.write("memory/work/c.md", "The heron works.\n");
    lab.write("memory/d.md", "The heron rests.\n");
    const paths = [{ path: more, pattern: "sub/**" }, { path: "memory/work" }, { path: join(more, "one (1).md") }];
    const { memory, ask } = await lab.open({ qmd: { includeDefaultMemory: false, paths } });
    expect(await memory.sync()).toMatchObject({ added: 3 });
    const { results } = await ask("heron", { maxResults: 20 });
    const found = results.map(({ snippet }) => snippet.trim());
    expect(found.toSorted()).toEqual(["The heron flies.", "The heron nests.", "The heron works."]);
    const root = memory.status().roots?.find(({ path }) => path === "MEMORY.md");
    expect(root).toMatchObject({ state: "skipped", reason: "memory.qmd.includeDefaultMemory is false" });
  });

  test("a folder of notes is read whole, as the owner's own", () => {
    const workspaceDir = tempFolder({ "Heat pump.md": "note\n" });
    const ofWorkspace = (notes: "auto" | "agent" | "all", includeDefaultMemory = true): Partial<Collection>[] => {
      const workspace = { workspaceDir, settings: { extraPaths: [], notes } };
      return collectionsOf({ workspace, named: [], includeDefaultMemory, sessionsFolder: undefined, skipped: [] })
        .filter(({ root, pattern }) => root === workspaceDir && pattern === everyNote)
        .map(({ isExtra }) => ({ isExtra }));
    };
    expect(ofWorkspace("auto")).toEqual([{ isExtra: false }]);
    expect(ofWorkspace("agent")).toEqual([]);
    expect(ofWorkspace("all", false)).toEqual([]);
    writeFiles(workspaceDir, { "memory/a.md": "" });
    expect(ofWorkspace("auto")).toEqual([]);
    expect(ofWorkspace("all")).toEqual([{ isExtra: false }]);
  });
});
