import { appendFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryPluginContext, MemorySearchManager, MemorySearchSettings } from "@memslot/core";
import { afterEach, describe, expect, test } from "vitest";
import { contextFor, searchOptions, settingsWith, syncParams } from "../../test/support/context.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { manageIndex } from "../manager.ts";
import data from "./test/fresh-manager.json" with { type: "json" };

const open: MemorySearchManager[] = [];
afterEach(async () => {
  for (const manager of open.splice(0)) await manager.close?.();
});

interface Opened {
  manager: MemorySearchManager;
  stateDir: string;
  paths(query: string): Promise<string[]>;
  freshness(): unknown;
}

async function opened(
  workspace: string,
  change: Parameters<typeof settingsWith>[0] = {},
  more: Partial<MemoryPluginContext> = {},
): Promise<Opened> {
  const stateDir = folderWith();
  const settings = settingsWith({ ...change, sync: { watch: true, ...change.sync } });
  const context = { ...contextFor(workspace, { settings }), stateDir, ...more };
  const manager = await manageIndex({ index: createFakeStore(), context, backend: "test" });
  open.push(manager);
  return {
    manager,
    stateDir,
    async paths(query) {
      const endMs = performance.now() + 40_000;
      for (;;) {
        const options = searchOptions({ sources: settings.sources });
        const results = await manager.search(query, options);
        // A busy machine has an answer called stale now and then.
        if (options.reports[0]?.state === "ok") return results.map((result) => result.path).toSorted();
        if (performance.now() > endMs) throw new Error(`not fresh: ${JSON.stringify(options.reports)}`);
        await sleep(5);
      }
    },
    freshness: () => manager.status().freshness,
  };
}

/** Searches until one has looked at nothing: the watcher needs a moment to begin. */
async function settle({ paths, freshness }: Opened): Promise<void> {
  const patience = { timeout: 40_000, interval: 20 };
  const search = async (): Promise<unknown> => {
    await paths("zebra");
    return freshness();
  };
  await expect.poll(search, patience).toEqual({ by: "events" });
  await expect.poll(search, patience).toEqual({ by: "events" });
}

describe.runIf(process.platform === "linux")("a memory that is watched", () => {
  test("reports that its searches are fresh by events", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra" });
    const memory = await opened(workspace);
    expect(memory.freshness()).toEqual({ by: "sweep", reason: "no search has looked at the files yet" });
    await settle(memory);
    writeFiles(workspace, { "memory/deep/b.md": "zebra", "MEMORY.md": "zebra" });
    expect(await memory.paths("zebra")).toEqual(["MEMORY.md", "memory/a.md", "memory/deep/b.md"]);
    rmSync(path.join(workspace, "memory"), { recursive: true });
    expect(await memory.paths("zebra")).toEqual(["MEMORY.md"]);
    const sentinels = path.join(memory.stateDir, "watch");
    expect(readdirSync(sentinels)).toHaveLength(1);
    await memory.manager.close?.();
    expect(readdirSync(sentinels)).toEqual([]);
  });

  test("follows the edits of a .gitignore in a folder of notes", async () => {
    const workspace = folderWith({ "a.md": "zebra", "drafts/b.md": "zebra", ".gitignore": "" });
    const memory = await opened(workspace, { notes: "all" });
    await settle(memory);
    for (const [rules, left] of data.leftOut) {
      writeFiles(workspace, { ".gitignore": `${String(rules)}\n` });
      expect(await memory.paths("zebra")).toEqual(left);
      await settle(memory);
      expect(await memory.paths("zebra")).toEqual(left);
    }
    writeFiles(workspace, { "deep/drafts/.gitignore": "c.md", "deep/drafts/c.md": "zebra", "deep/d.md": "zebra" });
    expect(await memory.paths("zebra")).toEqual(["deep/d.md", "drafts/b.md"]);
  });

  test("hears of transcripts, which lie in another folder", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra" });
    const sessions = { deltaBytes: 0, deltaMessages: 0, postCompactionForce: true };
    const memory = await opened(workspace, { sources: ["memory", "sessions"], sync: { sessions } });
    await settle(memory);
    const transcript = path.join(memory.stateDir, "agents/main/sessions/one.jsonl");
    const say = (content: string): string =>
      `${JSON.stringify({ type: "message", message: { role: "user", content } })}\n`;
    writeFiles(path.dirname(transcript), { "one.jsonl": say("a giraffe") });
    expect(await memory.paths("giraffe")).toEqual(["sessions/one.jsonl"]);
    await settle(memory);
    appendFileSync(transcript, say("an okapi"));
    expect(await memory.paths("okapi")).toEqual(["sessions/one.jsonl"]);
    rmSync(transcript);
    expect(await memory.paths("giraffe")).toEqual([]);
  });
});

describe("a memory whose searches look at all files says so", () => {
  type Case = [string, Partial<MemorySearchSettings["sync"]>, Partial<MemoryPluginContext>, unknown];
  test.each(data.sweeps as Case[])("%s", async (_, sync, more, freshness) => {
    const workspace = folderWith({ "memory/a.md": "zebra" });
    const { manager, stateDir, paths, freshness: told } = await opened(workspace, { sync }, more);
    await manager.sync?.(syncParams());
    expect(await paths("zebra")).toEqual(["memory/a.md"]);
    expect(told()).toEqual(freshness);
    if (sync.onSearch === false) return;
    writeFiles(workspace, { "memory/b.md": "zebra" });
    expect(await paths("zebra")).toEqual(["memory/a.md", "memory/b.md"]);
    expect(existsSync(path.join(stateDir, "watch"))).toBe(false);
  });
});
