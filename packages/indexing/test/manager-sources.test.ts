import { appendFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import type { MemorySearchManager, SearchReport } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { manageIndex } from "@memslot/indexing/engine";
import { contextFor, settingsWith, syncParams } from "./support/context.ts";
import { ask, openMemory, search } from "./support/memory.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import tables from "../src/scan/test/paths.json" with { type: "json" };

const both = ["memory", "sessions"];

async function open(workspaceDir: string, change: Parameters<typeof settingsWith>[0] = { sources: both }) {
  return await openMemory(workspaceDir, { settings: settingsWith(change) });
}

async function searchBoth(manager: MemorySearchManager, query: string, change: Parameters<typeof search>[2] = {}) {
  return await ask(manager, query, { sources: both, ...change });
}

/** The state folder of these tests is the workspace. */
function transcript(workspace: string, sessionId: string, ...texts: string[]): string {
  const folder = path.join(workspace, "agents", "main", "sessions");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${sessionId}.jsonl`);
  for (const text of texts)
    appendFileSync(file, `${JSON.stringify({ type: "message", message: { role: "user", content: text } })}\n`);
  return file;
}

describe("transcripts", () => {
  test("are not looked at unless they are named as a source, and leave nothing behind when that is taken back", async () => {
    const workspace = folderWith({ "MEMORY.md": "note" });
    transcript(workspace, "s1", "I saw a zebra");
    const { manager, store } = await open(workspace);
    await manager.sync?.(syncParams());
    expect(store.paths()).toEqual(["MEMORY.md", "sessions/s1.jsonl"]);
    const context = contextFor(workspace, { settings: settingsWith() });
    const without = await manageIndex({ index: store, context, backend: "test" });
    await without.sync?.(syncParams());
    expect(store.paths()).toEqual(["MEMORY.md"]);
  });

  test("that another process has indexed are searched, also if the index cannot be counted", async () => {
    const workspace = folderWith({ "MEMORY.md": "note" });
    const context = contextFor(workspace, { settings: settingsWith({ sources: both, sync: { onSearch: false } }) });
    const { manager, store, sync } = await openMemory(workspace, context);
    await sync();
    expect((await searchBoth(manager, "zebra")).paths).toEqual([]);
    transcript(workspace, "s1", "I saw a zebra");
    const other = await manageIndex({ index: store, context, backend: "test" });
    await other.sync?.(syncParams());
    const { stats } = store;
    store.stats = async () => await Promise.reject(new Error("it is busy"));
    expect((await searchBoth(manager, "zebra")).paths).toEqual(["sessions/s1.jsonl"]);
    store.stats = stats;
    await searchBoth(manager, "zebra");
    expect(manager.status().files).toBe(2);
  });

  test("that grew by little wait for a sync that is asked for, and a search takes what grew by much", async () => {
    const workspace = folderWith({ "MEMORY.md": "note" });
    transcript(workspace, "s1", "the first words");
    const { manager } = await open(workspace);
    await manager.sync?.(syncParams());
    transcript(workspace, "s1", "I saw a zebra");
    expect((await searchBoth(manager, "zebra")).paths).toEqual([]);
    expect(manager.status().sourceCounts?.map(({ waiting }) => waiting)).toEqual([0, 1]);
    transcript(workspace, "s1", ...Array.from({ length: 50 }, (_, index) => `line ${index}`));
    expect((await searchBoth(manager, "zebra")).paths).toContain("sessions/s1.jsonl");
    transcript(workspace, "s1", "and a giraffe");
    await manager.sync?.(syncParams({ reason: "compaction", sessions: [{ sessionId: "s1" }] }));
    expect((await searchBoth(manager, "giraffe")).paths).toContain("sessions/s1.jsonl");
  });

  test("are counted by source", async () => {
    const workspace = folderWith({ "MEMORY.md": "note" });
    transcript(workspace, "s1", "the first words");
    const { manager } = await open(workspace);
    expect(manager.status().sourceCounts?.map(({ source, eligible }) => [source, eligible])).toEqual([
      ["memory", null],
      ["sessions", null],
    ]);
    await manager.sync?.(syncParams());
    expect(manager.status().sourceCounts).toMatchObject([
      { source: "memory", files: 1, chunks: 1, eligible: 1 },
      { source: "sessions", files: 1, chunks: 1, eligible: 1, issues: [] },
    ]);
    appendFileSync(path.join(workspace, "agents/main/sessions/s1.jsonl"), "{broken\n{too\n");
    for (let round = 0; round < 2; round++) {
      await manager.sync?.(syncParams());
      expect(manager.status().sourceCounts?.[1]?.issues).toEqual([
        "sessions/s1.jsonl: skipped or cut lines: 2 (not JSON, not UTF-8 or too long)",
      ]);
    }
  });
});

describe("a folder of notes and its watcher", () => {
  const group = { audience: "shared", sessionKey: "agent:main:telegram:group:-1" } as const;

  async function open(workspaceDir: string, change: Parameters<typeof settingsWith>[0] = {}) {
    return await openMemory(workspaceDir, { settings: settingsWith(change) });
  }

  async function found(...given: Parameters<typeof search>): Promise<{ paths: string[]; report: SearchReport }> {
    const { paths, report } = await search(...given);
    return { paths: paths.toSorted(), report };
  }

  describe("a folder of notes", () => {
    test("that MEMORY.md is put into is the agent's from then on, unless all is asked for, and a weak answer says so", async () => {
      const files = { "Zebra.md": "a zebra", "deep/b.md": "zebra b", "MEMORY.md": "lion" };
      const agent = await found((await open(folderWith(files))).manager, "zebra");
      expect(agent.paths).toEqual([]);
      expect(agent.report.reason).toContain("2 Markdown files below the workspace are not searched");
      expect(agent.report.action).toContain('Set memorySearch.notes to "all"');
      const all = await found((await open(folderWith(files), { notes: "all" })).manager, "zebra");
      expect(all.paths).toEqual(["Zebra.md", "deep/b.md"]);
      expect(all.report.unsearched).toBeUndefined();
    });
  });

  describe("others who read along", () => {
    const secrets = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`private/${index}.md`, "zebra zebra lion: the secret of the owner"]),
    );
    const shared = tables.sharedNotes;

    test.each(tables.sharedPlaces as [string, Parameters<typeof settingsWith>[0], string[]][])(
      "with %s find nothing but what stands in it",
      async (_, settings, wanted) => {
        const workspace = folderWith({ "Zebra.md": "zebra secret", "USER.md": "zebra secret", ...secrets, ...shared });
        const { manager } = await open(workspace, settings);
        await manager.sync?.(syncParams());
        expect((await found(manager, "zebra", group)).paths).toEqual(wanted);
        const own = (await found(manager, "zebra", { maxResults: 100 })).paths;
        expect(own).toHaveLength(33);
      },
    );
  });

  test("the watcher sees notes in every folder, and follows an edit of .gitignore", async () => {
    const workspace = folderWith({ "a.md": "alpha", "private/b.md": "beta", ".gitignore": "private\n" });
    const { manager, store } = await open(workspace, { sync: { watch: true, watchDebounceMs: 20 } });
    await manager.sync?.(syncParams());
    await eventually(() => manager.status().watch?.mode !== "off", "the folders are watched");
    writeFiles(workspace, { "new/d.mdx": "delta" });
    await eventually(() => store.paths().includes("new/d.mdx"), "a note in a new folder is indexed");
    writeFiles(workspace, { ".gitignore": "new\n" });
    await eventually(() => store.paths().join() === "a.md,private/b.md", "other notes are excluded");
    // The folder that was excluded before is watched now.
    await eventually(() => manager.status().watch?.mode !== "off", "the folders are watched again");
    writeFiles(workspace, { "private/e.md": "epsilon" });
    await eventually(() => store.paths().includes("private/e.md"), "a note in a folder that is let in is indexed");
    expect(store.paths().toSorted()).toEqual(["a.md", "private/b.md", "private/e.md"]);
  });
});
