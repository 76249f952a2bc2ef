import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { ExtraPath } from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import { describe, expect, test } from "vitest";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { holdsNotes } from "./folder-rules.ts";
import { readMemoryFile } from "./read-memory-file.ts";
import { scanMemory, type ScanResult } from "./scan.ts";
import { createUnsearchedCounter } from "./survey-notes.ts";
import tables from "./test/paths.json" with { type: "json" };

const never = new AbortController().signal;

interface Looked {
  notes?: "auto" | "agent" | "all" | undefined;
  extraPaths?: readonly (string | ExtraPath)[];
  stateDir?: string;
  signal?: AbortSignal;
}

async function scan(
  workspaceDir: string,
  { notes = "auto", extraPaths = [], stateDir, signal = never }: Looked = {},
): Promise<ScanResult & { paths: string[] }> {
  const result = await scanMemory({ workspaceDir, settings: { extraPaths, notes }, stateDir }, signal);
  return { ...result, paths: result.files.map((file) => file.path).toSorted() };
}

/** Whether a file can be read, as `memory_get` reads it. */
async function canRead(
  workspaceDir: string,
  relPath: string,
  { notes = "auto", extraPaths = [], audience = "private" }: Looked & { audience?: "private" | "shared" } = {},
): Promise<boolean> {
  const params = { relPath, from: 1, lines: 5, audience, signal: never } as const;
  try {
    return (await readMemoryFile(params, { workspaceDir, settings: { extraPaths, notes } })).status === "ok";
  } catch (error) {
    expect(error).toMatchObject({ code: "PATH_NOT_ALLOWED" });
    return false;
  }
}

/** All files below a folder, by their paths from it. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, "/"));
}

const vault = tables.vault;
const ofVault = ["Heat pump.md", "USER.md", "work/deep/er/page.mdx", "work/plan.MARKDOWN"];

describe("the layout", () => {
  test.each(tables.layouts as [string, Record<string, string>, Looked["notes"], "agent" | "all"][])(
    "with %s",
    async (_, files, notes, layout) => {
      const workspace = folderWith({ ...files, "Heat pump.md": "a" });
      expect(notesLayout(workspace, notes ?? "auto").layout).toBe(layout);
      expect((await scan(workspace, { notes })).paths.includes("Heat pump.md")).toBe(layout === "all");
    },
  );

  test("of the home folder and of the root of the disk is never that of a folder of notes by itself", async () => {
    const workspace = folderWith({ "Heat pump.md": "a" });
    stubBuiltin(os, { homedir: () => workspace });
    expect((await scan(workspace)).paths).toEqual([]);
    expect(notesLayout("/", "auto").layout).toBe("agent");
    expect((await scan(workspace, { notes: "all" })).paths).toEqual(["Heat pump.md"]);
  });
});

describe("a folder of notes", () => {
  test("is all Markdown below it, without what is hidden and what belongs to tools, counted by the reason", async () => {
    const { paths, roots, failed } = await scan(folderWith(vault));
    expect(paths).toEqual(ofVault);
    expect(failed).toEqual([]);
    expect(roots.find(({ path: root }) => root === ".")).toEqual(tables.folderRoot);
  });

  // What git says of the very same files.
  const lists: Record<string, string>[] = tables.ignoreFiles;
  test.each(lists.map((list) => [JSON.stringify(list), list] as const))(
    "leaves out what git does by %s",
    async (_, list) => {
      const names = ["top.md", "keep.md", "x.draft.md", "#odd.md", "with space.md"];
      const files = ["", "a/", "a/b/", "private/", "private/b/"].flatMap((folder) =>
        names.map((name) => folder + name),
      );
      const workspace = folderWith({ ...Object.fromEntries(files.map((file) => [file, "note"])), ...list });
      const git = (...args: string[]): string =>
        execFileSync("git", ["-c", "core.excludesFile=", ...args], { cwd: workspace, encoding: "utf8" });
      git("init", "-q");
      const kept = git("ls-files", "-z", "--others", "--exclude-standard").split("\0");
      const wanted = files.filter((file) => kept.includes(file)).toSorted();
      expect(wanted.length).toBeLessThan(files.length);
      expect((await scan(workspace)).paths).toEqual(wanted);
      for (const file of files) expect([file, await canRead(workspace, file)]).toEqual([file, wanted.includes(file)]);
    },
  );

  test("keeps what extraPaths names whatever a .gitignore says", async () => {
    const workspace = folderWith({ "a.md": "a", "private/b.md": "b", ".hidden/c.md": "c", ".gitignore": "private\n" });
    const extraPaths = ["private", ".hidden"];
    expect((await scan(workspace, { extraPaths })).paths).toEqual([".hidden/c.md", "a.md", "private/b.md"]);
    expect(await canRead(workspace, "private/b.md", { extraPaths })).toBe(true);
    expect(await canRead(workspace, "private/b.md")).toBe(false);
  });

  test("reads no file that it does not index, and each that it does", async () => {
    const workspace = folderWith({ ...vault, ".gitignore": "secret/\n", "secret/a.md": "s", "memory.txt": "t" });
    const files = filesBelow(workspace);
    symlinkSync(path.join(workspace, "secret"), path.join(workspace, "link"));
    symlinkSync(path.join(workspace, "secret/a.md"), path.join(workspace, "link.md"));
    symlinkSync(workspace, path.join(workspace, "work/round"));
    const { paths, roots } = await scan(workspace);
    expect(paths).toEqual(ofVault);
    const skipped = roots.filter(({ reason = "" }) => reason.includes("symbolic link"));
    expect(skipped.map((root) => root.path).toSorted()).toEqual(["link", "link.md", "work/round"]);
    const all = [...files, "link.md", "link/a.md", "work/round/Heat pump.md", "secret/../secret/a.md"];
    const readable: string[] = [];
    for (const file of all) if (await canRead(workspace, file)) readable.push(file);
    expect(readable.toSorted()).toEqual(ofVault);
    expect(all.length).toBeGreaterThan(12);
  });

  test("whose .gitignore cannot be read keeps what is known of that folder, and says so", async () => {
    const workspace = folderWith({ "a.md": "a", "sub/b.md": "b", "sub/.gitignore": "x".repeat(300_000) });
    const { paths, failed, unknown } = await scan(workspace);
    expect(paths).toEqual(["a.md"]);
    expect(failed).toMatchObject([
      { path: "sub", reason: expect.stringContaining(".gitignore is larger than") as string },
    ]);
    expect(unknown).toEqual(["sub/"]);
    expect(await canRead(workspace, "sub/b.md")).toBe(false);
  });

  test("passes over a line of a .gitignore that could hold it up, and says so", async () => {
    const line = "*a*a*a*a*a*a*a*a*b";
    const workspace = folderWith({ [`${"a".repeat(200)}.md`]: "a", "b.md": "b", ".gitignore": `b.md\n${line}\n` });
    const { paths, roots } = await scan(workspace);
    expect(paths).toEqual([`${"a".repeat(200)}.md`]);
    const told = roots.find((root) => root.path === ".gitignore");
    expect(told?.reason).toContain("line 2 has too many stars");
  });

  test("takes a .gitignore that is a link or a folder for none, as git does", async () => {
    const workspace = folderWith({ "a.md": "a", "list.txt": "*.md", "sub/.gitignore/x.md": "x", "sub/b.md": "b" });
    symlinkSync(path.join(workspace, "list.txt"), path.join(workspace, ".gitignore"));
    const { paths, failed } = await scan(workspace);
    expect(paths).toEqual(["a.md", "sub/b.md"]);
    expect(failed).toEqual([]);
  });

  test("goes down no more than 64 folders", async () => {
    const workspace = folderWith();
    const deep = path.join(workspace, ...Array.from({ length: 70 }, () => "d"));
    mkdirSync(deep, { recursive: true });
    writeFileSync(path.join(deep, "far.md"), "far");
    writeFileSync(path.join(workspace, "d/d/near.md"), "near");
    const { paths, roots } = await scan(workspace);
    expect(paths).toEqual(["d/d/near.md"]);
    expect(roots.filter(({ reason = "" }) => reason.includes("more than 64 folders deep"))).toHaveLength(1);
    expect(await canRead(workspace, `${"d/".repeat(70)}far.md`)).toBe(false);
  });
});

describe("what is not searched", () => {
  const count = async (workspaceDir: string, notes: "auto" | "all"): Promise<number> =>
    (await createUnsearchedCounter({ workspaceDir, settings: { extraPaths: [], notes }, stateDir: "/x" })(never)).files;

  test("is what `notes: all` would take in: no more and no less", async () => {
    const files = {
      ...vault,
      "MEMORY.md": "m",
      ".gitignore": "drafts\n",
      "drafts/x.md": "x",
      "work/.gitignore": "*.mdx",
    };
    const workspace = folderWith(files);
    const [agent, all] = [await scan(workspace), await scan(workspace, { notes: "all" })];
    expect(await count(workspace, "auto")).toBe(all.files.length - agent.files.length);
    expect(all.files.length - agent.files.length).toBe(2);
    expect(await count(workspace, "all")).toBe(0);
  });
});

describe("a folder holds notes", () => {
  test.each(tables.holdsNotes as [Record<string, string>, boolean][])("%j: %s", (files, holds) => {
    expect(holdsNotes(folderWith(files))).toBe(holds);
  });
});
