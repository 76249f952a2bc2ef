import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MemorySearchManager, MemorySearchResult, SearchReport } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { manageIndex } from "@memslot/indexing";
import { tempFolder } from "@memslot/test-tools/files";
import { contextFor, never, searchOptions, settingsWith, syncParams } from "./support/context.ts";
import { createFakeStore, type FakeStore } from "./support/fake-store.ts";
import { eventually } from "@memslot/test-tools/wait";

const both = ["memory", "sessions"];

async function open(
  workspaceDir: string,
  settings: Parameters<typeof settingsWith>[0] = { sources: both },
): Promise<{ manager: MemorySearchManager; store: FakeStore }> {
  const store = createFakeStore();
  const context = contextFor(workspaceDir, { settings: settingsWith(settings) });
  return { store, manager: await manageIndex({ index: store, context, backend: "test" }) };
}

async function search(
  manager: MemorySearchManager,
  query: string,
  change: Parameters<typeof searchOptions>[0] = {},
): Promise<{ results: MemorySearchResult[]; paths: string[]; report: SearchReport }> {
  const options = searchOptions({ sources: both, ...change });
  const results = await manager.search(query, options);
  return { results, paths: results.map((result) => result.path), report: options.reports[0] as SearchReport };
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
  test("are searched with the notes, by the lines of their file", async () => {
    const workspace = tempFolder({ "MEMORY.md": "The zebra lives in the notes." });
    transcript(workspace, "s1", "hello", "I saw a zebra in the zoo");
    const { manager } = await open(workspace);
    await manager.sync?.(syncParams());
    const { results } = await search(manager, "zebra");
    expect(results.map(({ path: file, source }) => [file, source])).toEqual([
      ["MEMORY.md", "memory"],
      ["sessions/s1.jsonl", "sessions"],
    ]);
    expect(results[1]).toMatchObject({ startLine: 1, endLine: 2 });
    expect((await search(manager, "zebra", { sources: ["memory"] })).paths).toEqual(["MEMORY.md"]);
    await expect(
      manager.readFile({ relPath: "sessions/s1.jsonl", from: 1, lines: 5, audience: "private", signal: never }),
    ).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });

  test("are not looked at unless they are named as a source, and leave nothing behind when that is taken back", async () => {
    const workspace = tempFolder({ "MEMORY.md": "note" });
    transcript(workspace, "s1", "I saw a zebra");
    const { manager, store } = await open(workspace);
    await manager.sync?.(syncParams());
    expect(store.paths()).toEqual(["MEMORY.md", "sessions/s1.jsonl"]);
    const context = contextFor(workspace, { settings: settingsWith() });
    const without = await manageIndex({ index: store, context, backend: "test" });
    await without.sync?.(syncParams());
    expect(store.paths()).toEqual(["MEMORY.md"]);
  });

  test("that grew by little wait for a sync that is asked for, and a search takes what grew by much", async () => {
    const workspace = tempFolder({ "MEMORY.md": "note" });
    transcript(workspace, "s1", "the first words");
    const { manager } = await open(workspace);
    await manager.sync?.(syncParams());
    transcript(workspace, "s1", "I saw a zebra");
    expect((await search(manager, "zebra")).paths).toEqual([]);
    expect(manager.status().sourceCounts?.map(({ waiting }) => waiting)).toEqual([0, 1]);
    transcript(workspace, "s1", ...Array.from({ length: 50 }, (_, index) => `line ${index}`));
    expect((await search(manager, "zebra")).paths).toEqual(["sessions/s1.jsonl"]);
    transcript(workspace, "s1", "and a giraffe");
    await manager.sync?.(syncParams({ reason: "compaction", sessions: [{ sessionId: "s1" }] }));
    expect((await search(manager, "giraffe")).paths).toEqual(["sessions/s1.jsonl"]);
  });

  test("are counted by source", async () => {
    const workspace = tempFolder({ "MEMORY.md": "note" });
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
        "sessions/s1.jsonl: 2 lines were passed over or cut: not JSON, not UTF-8 or too long",
      ]);
    }
  });
});

describe("a session that others read", () => {
  const group = { audience: "shared", sessionKey: "agent:main:telegram:group:1" } as const;

  test("finds what extra paths add and its own transcript, nothing else, and the rest does not crowd it out", async () => {
    const secrets = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`memory/${index}.md`, `zebra zebra secret ${index}`]),
    );
    const workspace = tempFolder({
      "MEMORY.md": "zebra secret",
      "USER.md": "zebra secret",
      "team/plan.md": "In the plan of the team a zebra is named somewhere, among quite different things.",
      ...secrets,
    });
    transcript(workspace, "own", "zebra of the group");
    transcript(workspace, "other", "zebra secret of another session");
    writeFileSync(
      path.join(workspace, "agents/main/sessions/sessions.json"),
      JSON.stringify({ [group.sessionKey]: { sessionId: "own" }, "agent:main:main": { sessionId: "other" } }),
    );
    const { manager } = await open(workspace, { sources: both, extraPaths: ["team", "."] });
    await manager.sync?.(syncParams());
    const { paths } = await search(manager, "zebra", group);
    expect(paths.toSorted()).toEqual(["sessions/own.jsonl", "team/plan.md"]);
    const own = await search(manager, "zebra", { sources: ["sessions"] });
    expect(own.paths.toSorted()).toEqual(["sessions/other.jsonl", "sessions/own.jsonl"]);
  });

  test("reads no private note", async () => {
    const workspace = tempFolder({ "MEMORY.md": "zebra", "memory/a.md": "zebra", "team/plan.md": "plan" });
    const { manager } = await open(workspace, { extraPaths: ["team", "."] });
    const read = async (relPath: string): Promise<unknown> =>
      await manager.readFile({ relPath, from: 1, lines: 5, audience: "shared", signal: never });
    for (const relPath of ["MEMORY.md", "./MEMORY.md", "memory/a.md", "team/../memory/a.md", "memory/../MEMORY.md"])
      await expect(read(relPath), relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    expect(await read("team/plan.md")).toMatchObject({ text: "plan" });
  });
});

describe("without being asked", () => {
  test("a saved note is indexed when it has been left alone for a moment", async () => {
    const workspace = tempFolder({ "memory/a.md": "alpha" });
    const { manager, store } = await open(workspace, { sync: { watch: true, watchDebounceMs: 20 } });
    await manager.sync?.(syncParams());
    await eventually(() => manager.status().watch?.mode !== "off", "the folders are watched");
    writeFileSync(path.join(workspace, "memory/b.md"), "beta");
    await eventually(() => store.paths().includes("memory/b.md"), "the new note is indexed");
    mkdirSync(path.join(workspace, "memory/sub"));
    writeFileSync(path.join(workspace, "memory/sub/c.md"), "gamma");
    await eventually(() => store.paths().includes("memory/sub/c.md"), "a note in a new folder is indexed");
    rmSync(path.join(workspace, "memory/a.md"));
    await eventually(() => !store.paths().includes("memory/a.md"), "a deleted note is gone");
    expect(manager.status().lastSync?.reason).toBe("watch");
    await manager.close?.();
  });

  test("files are looked at every so many minutes", async () => {
    const workspace = tempFolder({ "memory/a.md": "alpha" });
    const { manager, store } = await open(workspace, { sync: { intervalMinutes: 0.0005 } });
    await eventually(() => store.paths().length === 1, "the note is indexed");
    expect(manager.status().lastSync?.reason).toBe("interval");
    await manager.close?.();
  });

  test("nothing happens where somebody only looks", async () => {
    const workspace = tempFolder({ "memory/a.md": "alpha" });
    const context = { ...contextFor(workspace, { settings: settingsWith({ sync: { watch: true } }) }), lookOnly: true };
    const manager = await manageIndex({ index: createFakeStore(), context, backend: "test" });
    expect(manager.status().watch).toEqual({ mode: "off", reason: "opened only to look" });
  });
});
