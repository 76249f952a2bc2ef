import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MemorySearchManager, SearchReport } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { manageIndex } from "@memslot/indexing";
import { contextFor, never, searchOptions, settingsWith, syncParams } from "./support/context.ts";
import { createFakeStore, type FakeStore } from "./support/fake-store.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";

const group = { audience: "shared", sessionKey: "agent:main:telegram:group:-1" } as const;

async function open(
  workspaceDir: string,
  settings: Parameters<typeof settingsWith>[0] = {},
): Promise<{ manager: MemorySearchManager; store: FakeStore }> {
  const store = createFakeStore();
  const context = contextFor(workspaceDir, { settings: settingsWith(settings) });
  return { store, manager: await manageIndex({ index: store, context, backend: "test" }) };
}

async function search(
  manager: MemorySearchManager,
  query: string,
  change: Parameters<typeof searchOptions>[0] = {},
): Promise<{ paths: string[]; report: SearchReport }> {
  const options = searchOptions(change);
  const results = await manager.search(query, options);
  return { paths: results.map((result) => result.path).toSorted(), report: options.reports[0] as SearchReport };
}

describe("a folder of notes", () => {
  test("is searched, and each search sees what has changed, an edit of .gitignore too", async () => {
    const workspace = folderWith({ "Zebra.md": "a zebra", "deep/b.mdx": "zebra b", "private/c.md": "zebra c" });
    const { manager } = await open(workspace);
    expect((await search(manager, "zebra")).paths).toEqual(["Zebra.md", "deep/b.mdx", "private/c.md"]);
    writeFiles(workspace, { ".gitignore": "private/", "d.markdown": "zebra d" });
    expect((await search(manager, "zebra")).paths).toEqual(["Zebra.md", "d.markdown", "deep/b.mdx"]);
    writeFiles(workspace, { ".gitignore": "deep/" });
    renameSync(path.join(workspace, "d.markdown"), path.join(workspace, "d.txt"));
    expect((await search(manager, "zebra")).paths).toEqual(["Zebra.md", "private/c.md"]);
  });

  test("that MEMORY.md is put into is the agent's from then on, unless all is asked for, and a weak answer says so", async () => {
    const files = { "Zebra.md": "a zebra", "deep/b.md": "zebra b", "MEMORY.md": "lion" };
    const agent = await search((await open(folderWith(files))).manager, "zebra");
    expect(agent.paths).toEqual([]);
    expect(agent.report.reason).toContain("2 Markdown files below the workspace are not searched");
    expect(agent.report.action).toContain('Set memorySearch.notes to "all"');
    const all = await search((await open(folderWith(files), { notes: "all" })).manager, "zebra");
    expect(all.paths).toEqual(["Zebra.md", "deep/b.md"]);
    expect(all.report.unsearched).toBeUndefined();
  });
});

describe("others who read along", () => {
  const secrets = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`private/${index}.md`, "zebra zebra lion: the secret of the owner"]),
  );
  const shared = {
    "team/plan.md": "In the plan of the team a zebra is named somewhere, among quite different things.",
    "team/other.md": "Nothing of that.",
  };

  test.each<[string, Parameters<typeof settingsWith>[0], string[]]>([
    ["no shared place", {}, []],
    ["a folder", { extraPaths: ["team"] }, ["team/plan.md"]],
    ["a file", { extraPaths: ["team/plan.md"] }, ["team/plan.md"]],
    ["a pattern", { extraPaths: [{ path: ".", pattern: "team/*.md" }] }, ["team/plan.md"]],
    ["a pattern that fits nothing", { extraPaths: [{ path: ".", pattern: "nothing/*.md" }] }, []],
    ["a folder that is not there", { extraPaths: ["absent"] }, []],
  ])("with %s find nothing but what stands in it", async (_, settings, wanted) => {
    const workspace = folderWith({ "Zebra.md": "zebra secret", "USER.md": "zebra secret", ...secrets, ...shared });
    const { manager } = await open(workspace, settings);
    await manager.sync?.(syncParams());
    expect((await search(manager, "zebra", group)).paths).toEqual(wanted);
    const own = (await search(manager, "zebra", { maxResults: 100 })).paths;
    expect(own).toHaveLength(33);
  });

  test("read nothing but what stands in a shared place", async () => {
    const { manager } = await open(folderWith({ "Zebra.md": "zebra", ...shared }), { extraPaths: ["team"] });
    const read = async (relPath: string, audience: "shared" | "private"): Promise<unknown> =>
      await manager.readFile({ relPath, from: 1, lines: 5, audience, signal: never });
    expect(await read("Zebra.md", "private")).toMatchObject({ text: "zebra" });
    expect(await read("team/other.md", "shared")).toMatchObject({ text: "Nothing of that." });
    for (const relPath of ["Zebra.md", "./Zebra.md", "team/../Zebra.md", "absent.md"])
      await expect(read(relPath, "shared"), relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });
});

test("the watcher sees a note that is saved anywhere, not what is left out, and an edit of .gitignore", async () => {
  const workspace = folderWith({
    "a.md": "alpha",
    "private/b.md": "beta",
    ".gitignore": "private\n",
    ".git/c.md": "c",
  });
  const { manager, store } = await open(workspace, { sync: { watch: true, watchDebounceMs: 20 } });
  await manager.sync?.(syncParams());
  await eventually(() => manager.status().watch?.mode !== "off", "the folders are watched");
  mkdirSync(path.join(workspace, "new"));
  writeFileSync(path.join(workspace, "new/d.mdx"), "delta");
  await eventually(() => store.paths().includes("new/d.mdx"), "a note in a new folder is indexed");
  writeFiles(workspace, { ".gitignore": "new\n" });
  await eventually(() => store.paths().join() === "a.md,private/b.md", "other notes are left out");
  // What was left out before is watched now.
  await eventually(() => manager.status().watch?.mode !== "off", "the folders are watched anew");
  writeFileSync(path.join(workspace, "private/e.md"), "epsilon");
  await eventually(() => store.paths().includes("private/e.md"), "a note in a folder that is let in is indexed");
  rmSync(path.join(workspace, "a.md"));
  await eventually(() => !store.paths().includes("a.md"), "a deleted note is gone");
  expect(store.paths().toSorted()).toEqual(["private/b.md", "private/e.md"]);
  await manager.close?.();
}, 60_000);
