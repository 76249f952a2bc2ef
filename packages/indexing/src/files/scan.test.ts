import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { maxFileBytes, scanMemory, type ScanOptions, type ScanResult } from "./scan.ts";
import { oddNames } from "../../test/support/odd-names.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";

const isRoot = process.getuid?.() === 0;
const isWindows = process.platform === "win32";

async function scan(workspaceDir: string, extraPaths: ScanOptions["extraPaths"] = []): Promise<ScanResult> {
  return await scanMemory({ workspaceDir, extraPaths, signal: new AbortController().signal });
}

function paths(result: ScanResult): string[] {
  return result.files.map((file) => file.path).toSorted();
}

function rootOf(result: ScanResult, label: string): string | undefined {
  const root = result.roots.find((entry) => entry.path === label);
  return root && (root.state === "indexed" ? `${root.files} files` : root.reason);
}

describe("the usual places", () => {
  test("are MEMORY.md, USER.md and everything below memory", async () => {
    const workspace = folderWith({
      "MEMORY.md": "m",
      "USER.md": "u",
      "memory/2026-03-05.md": "a",
      "memory/deep/er/note.MD": "b",
      "memory/picture.png": "c",
      "memory/README": "d",
      "memory/文件 with spaces.md": "e",
      "README.md": "f",
      "other/note.md": "g",
    });
    const result = await scan(workspace);
    expect(paths(result)).toEqual(
      [
        "MEMORY.md",
        "USER.md",
        "memory/2026-03-05.md",
        "memory/deep/er/note.MD",
        "memory/文件 with spaces.md",
      ].toSorted(),
    );
    expect(result.roots).toEqual([
      { path: "MEMORY.md", state: "indexed", files: 1 },
      { path: "USER.md", state: "indexed", files: 1 },
      { path: "memory", state: "indexed", files: 3 },
    ]);
    expect(result.failed).toEqual([]);
    const file = result.files.find((entry) => entry.path === "memory/2026-03-05.md");
    expect(file).toMatchObject({ absolutePath: path.join(workspace, "memory/2026-03-05.md"), size: 1 });
    expect(file?.mtimeMs).toBeGreaterThan(0);
  });

  test("memory.md counts where there is no MEMORY.md", async () => {
    const result = await scan(folderWith({ "memory.md": "m" }));
    expect(paths(result)).toEqual(["memory.md"]);
    expect(rootOf(result, "MEMORY.md")).toBe("memory.md is used");
    expect(rootOf(result, "memory.md")).toBe("1 files");
  });

  test("MEMORY.md goes before memory.md, and it is said", async () => {
    const workspace = folderWith({ "MEMORY.md": "upper", "memory.md": "lower" });
    const result = await scan(workspace);
    expect(paths(result)).toContain("MEMORY.md");
    expect(paths(result)).toHaveLength(1);
    // On a file system that ignores case both names are one file, and there is nothing to say.
    expect(["MEMORY.md is used", undefined]).toContain(rootOf(result, "memory.md"));
    expect(result.roots.some((root) => root.path === "memory.md")).toBe(readdirSync(workspace).length === 2);
  });

  test("an empty workspace has none of them, and says so", async () => {
    const result = await scan(folderWith());
    expect(result.files).toEqual([]);
    expect(result.roots.map((root) => [root.path, root.state, root.reason])).toEqual([
      ["MEMORY.md", "skipped", "does not exist"],
      ["USER.md", "skipped", "does not exist"],
      ["memory", "skipped", "does not exist"],
    ]);
  });

  test.skipIf(isWindows)("files with odd names are files", async () => {
    const files = oddNames.flatMap((name) => [`memory/${name}`, `memory/folder ${name.slice(0, 100)}/${name}`]);
    const result = await scan(folderWith(Object.fromEntries(files.map((file) => [file, "odd"]))));
    expect(paths(result)).toEqual(files.toSorted());
    expect(result.failed).toEqual([]);
  });

  test.runIf(process.platform === "linux")("files and folders whose names are no UTF-8 are reported", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const named = (...parts: (string | number[])[]): Buffer =>
      Buffer.concat([`${workspace}/memory/`, ...parts].map((part) => Buffer.from(part as string)));
    writeFileSync(named("caf", [0xe9], ".md"), "latin");
    mkdirSync(named("dossier ", [0xe9]));
    writeFileSync(named("dossier ", [0xe9], "/b.md"), "b");
    const result = await scan(workspace);
    expect(paths(result)).toEqual(["memory/a.md"]);
    expect(result.failed).toEqual([
      { path: "memory/caf\ufffd.md", reason: "has a name that is not UTF-8: rename it" },
      { path: "memory/dossier \ufffd", reason: "has a name that is not UTF-8: rename it" },
    ]);
  });

  test("folders of tools are left out", async () => {
    const ignored = [".git", "node_modules", ".obsidian", ".venv", "__pycache__", ".trash"];
    const workspace = folderWith(Object.fromEntries(ignored.map((name) => [`memory/${name}/note.md`, "x"])));
    writeFiles(workspace, { "memory/.hidden/note.md": "kept", "memory/my_modules/note.md": "kept" });
    expect(paths(await scan(workspace))).toEqual(["memory/.hidden/note.md", "memory/my_modules/note.md"]);
  });

  test("a folder with the name of a file, and a file with the name of a folder, are skipped with the reason", async () => {
    const result = await scan(folderWith({ "MEMORY.md/note.md": "x", memory: "a file" }));
    expect(result.files).toEqual([]);
    expect(rootOf(result, "MEMORY.md")).toBe("is a folder, not a file");
    expect(rootOf(result, "memory")).toBe("is a file, not a folder");
  });

  test("a folder named x.md is a folder, and its notes are taken", async () => {
    const result = await scan(folderWith({ "memory/x.md/note.md": "x" }));
    expect(paths(result)).toEqual(["memory/x.md/note.md"]);
    expect(result.failed).toEqual([]);
  });
});

describe.skipIf(isWindows)("what is not followed", () => {
  test("a link to a file is reported", async () => {
    const outside = folderWith({ "secret.md": "s" });
    const workspace = folderWith({ "memory/note.md": "n" });
    symlinkSync(path.join(outside, "secret.md"), path.join(workspace, "memory/link.md"));
    symlinkSync(path.join(outside, "nowhere.md"), path.join(workspace, "memory/broken.md"));
    const result = await scan(workspace);
    expect(paths(result)).toEqual(["memory/note.md"]);
    expect(result.failed).toEqual([]);
    expect(rootOf(result, "memory/broken.md")).toBe("is a symbolic link, which is not followed");
    expect(rootOf(result, "memory/link.md")).toBe("is a symbolic link, which is not followed");
  });

  test("a link to a folder is skipped with the reason", async () => {
    const outside = folderWith({ "secret.md": "s" });
    const workspace = folderWith({ "memory/note.md": "n" });
    symlinkSync(outside, path.join(workspace, "memory/linked"));
    const result = await scan(workspace);
    expect(paths(result)).toEqual(["memory/note.md"]);
    expect(rootOf(result, "memory/linked")).toBe("is a symbolic link, which is not followed");
  });

  test("a link in a circle ends", async () => {
    const workspace = folderWith({ "memory/note.md": "n" });
    symlinkSync(path.join(workspace, "memory"), path.join(workspace, "memory/again"));
    expect(paths(await scan(workspace))).toEqual(["memory/note.md"]);
  });

  test("a root that is a link is skipped with the reason", async () => {
    const outside = folderWith({ "note.md": "n", "MEMORY.md": "m" });
    const workspace = folderWith();
    symlinkSync(outside, path.join(workspace, "memory"));
    symlinkSync(path.join(outside, "MEMORY.md"), path.join(workspace, "MEMORY.md"));
    symlinkSync(outside, path.join(workspace, "extra"));
    const result = await scan(workspace, ["extra"]);
    expect(result.files).toEqual([]);
    const advice = "is a symbolic link, which is not followed: name the real path instead,";
    expect(rootOf(result, "memory")).toBe(`${advice} ${outside}`);
    expect(rootOf(result, "MEMORY.md")).toBe(`${advice} ${path.join(outside, "MEMORY.md")}`);
    expect(rootOf(result, "extra")).toBe(`${advice} ${outside}`);
    renameSync(outside, `${outside}-gone`);
    expect(rootOf(await scan(workspace), "memory")).toMatch(/it leads nowhere \(ENOENT/);
    renameSync(`${outside}-gone`, outside);
  });

  test("links among the parents of an extra path are resolved, since its owner named it", async () => {
    const outside = folderWith({ "notes/note.md": "n" });
    const workspace = folderWith();
    symlinkSync(outside, path.join(workspace, "linked"));
    const result = await scan(workspace, ["linked/notes"]);
    expect(result.files).toMatchObject([{ absolutePath: path.join(outside, "notes/note.md") }]);
  });

  test("a second name of the same file is reported once", async () => {
    const workspace = folderWith({ "memory/a.md": "same" });
    linkSync(path.join(workspace, "memory/a.md"), path.join(workspace, "memory/b.md"));
    const result = await scan(workspace, [".", "memory"]);
    expect(paths(result)).toEqual(["memory/a.md"]);
    expect(result.failed).toEqual([]);
    expect(result.roots.filter((root) => root.path === "memory/b.md")).toEqual([
      { path: "memory/b.md", state: "skipped", reason: "is the same file as memory/a.md, which is indexed" },
    ]);
  });

  test("a named pipe is reported and not opened", async () => {
    const workspace = folderWith({ "memory/note.md": "n" });
    execFileSync("mkfifo", [path.join(workspace, "memory/pipe.md"), path.join(workspace, "MEMORY.md")]);
    const result = await scan(workspace);
    expect(paths(result)).toEqual(["memory/note.md"]);
    expect(rootOf(result, "memory/pipe.md")).toBe("is a named pipe, not a file");
    expect(rootOf(result, "MEMORY.md")).toBe("is a named pipe, not a file");
  });
});

describe("large files", () => {
  test("of 300 MB are skipped with what to do", async () => {
    const workspace = folderWith({ "memory/big.md": "", "memory/note.md": "n", "MEMORY.md": "" });
    truncateSync(path.join(workspace, "memory/big.md"), 300 * 1000 * 1000);
    truncateSync(path.join(workspace, "MEMORY.md"), maxFileBytes + 1);
    const result = await scan(workspace, ["memory"]);
    expect(paths(result)).toEqual(["memory/note.md"]);
    expect(result.failed).toEqual([]);
    expect(result.roots.filter(({ state }) => state === "skipped")).toEqual([
      {
        path: "MEMORY.md",
        state: "skipped",
        reason: expect.stringMatching(/^is .* more than 16 MiB: split it/) as string,
      },
      { path: "USER.md", state: "skipped", reason: "does not exist" },
      {
        path: "memory/big.md",
        state: "skipped",
        reason: "is 286 MiB, more than 16 MiB: split it into smaller files",
      },
    ]);
  });

  test("of exactly 16 MiB are taken", async () => {
    const workspace = folderWith({ "memory/full.md": "" });
    truncateSync(path.join(workspace, "memory/full.md"), maxFileBytes);
    expect(paths(await scan(workspace))).toEqual(["memory/full.md"]);
  });
});

describe("extra paths", () => {
  test("are folders or files, as text or with a pattern, inside the workspace or outside", async () => {
    const outside = folderWith({
      "wiki/a.md": "a",
      "wiki/deep/b.md": "b",
      "single.md": "s",
      "docs/x.md": "x",
      "docs/y.txt.md": "y",
      "docs/sub/x.md": "z",
    });
    const workspace = folderWith({ "notes/n.md": "n", "notes/n.txt": "t" });
    const result = await scan(workspace, [
      "notes",
      path.join(outside, "wiki"),
      path.join(outside, "single.md"),
      { path: path.join(outside, "docs"), pattern: "x*.md" },
    ]);
    const above = path.relative(workspace, outside).replaceAll(path.sep, "/");
    expect(paths(result)).toEqual(
      [
        "notes/n.md",
        `${above}/wiki/a.md`,
        `${above}/wiki/deep/b.md`,
        `${above}/single.md`,
        `${above}/docs/x.md`,
      ].toSorted(),
    );
    expect(rootOf(result, "notes")).toBe("1 files");
    expect(rootOf(result, path.join(outside, "docs"))).toBe("1 files");
  });

  test("a pattern is a glob below the folder", async () => {
    const files = ["a.md", "sub/b.md", "sub/deep/c.md", "other/d.md"];
    const workspace = folderWith(Object.fromEntries(files.map((name) => [`docs/${name}`, name])));
    const found = async (pattern: string): Promise<string[]> =>
      paths(await scan(workspace, [{ path: "docs", pattern }]));
    expect(await found("**/*.md")).toEqual(["docs/a.md", "docs/other/d.md", "docs/sub/b.md", "docs/sub/deep/c.md"]);
    expect(await found("sub/**")).toEqual(["docs/sub/b.md", "docs/sub/deep/c.md"]);
    expect(await found("*/*.md")).toEqual(["docs/other/d.md", "docs/sub/b.md"]);
    expect(await found("{a,sub/b}.md")).toEqual(["docs/a.md", "docs/sub/b.md"]);
    expect(await found("nothing")).toEqual([]);
  });

  test("that overlap take each file once, and no file is reported for it", async () => {
    const workspace = folderWith({ "MEMORY.md": "m", "memory/a.md": "a", "memory/sub/b.md": "b" });
    const result = await scan(workspace, [
      "memory/sub",
      ".",
      "memory",
      "MEMORY.md",
      { path: "memory", pattern: "**/*.md" },
    ]);
    expect(paths(result)).toEqual(["MEMORY.md", "memory/a.md", "memory/sub/b.md"]);
    expect(result.failed).toEqual([]);
  });

  test("that are missing, no Markdown, or behind a file are skipped with the reason", async () => {
    const workspace = folderWith({ "notes.txt": "t" });
    const result = await scan(workspace, ["missing", "notes.txt", "notes.txt/below"]);
    expect(rootOf(result, "missing")).toBe("does not exist");
    expect(rootOf(result, "notes.txt")).toBe("is not a Markdown file (.md)");
    expect(rootOf(result, "notes.txt/below")).toMatch(/^cannot be read: ENOTDIR/);
    // What is indexed of a place that cannot be looked at has to stay.
    expect(result.unknown).toEqual(["notes.txt/below", "notes.txt/below/"]);
  });
});

describe("what cannot be read", () => {
  test("a workspace that has vanished is an error that names it and the next step", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    renameSync(workspace, `${workspace}-gone`);
    const error: unknown = await scan(workspace).catch((reason: unknown) => reason);
    rmSync(`${workspace}-gone`, { recursive: true });
    expect(MemoryError.is(error, "WORKSPACE")).toBe(true);
    expect((error as Error).message).toContain(workspace);
    expect((error as Error).message).toContain("memslot init");
  });

  test("a workspace that is a file is the same error", async () => {
    const file = path.join(folderWith({ "workspace.md": "x" }), "workspace.md");
    await expect(scan(file)).rejects.toMatchObject({ code: "WORKSPACE" });
  });

  test.skipIf(isRoot || isWindows)(
    "a folder that may not be listed is reported, and its siblings are taken",
    async () => {
      const workspace = folderWith({ "memory/closed/a.md": "a", "memory/open/b.md": "b" });
      chmodSync(path.join(workspace, "memory/closed"), 0);
      const result = await scan(workspace);
      chmodSync(path.join(workspace, "memory/closed"), 0o700);
      expect(paths(result)).toEqual(["memory/open/b.md"]);
      expect(result.failed).toMatchObject([{ path: "memory/closed" }]);
      expect(result.unknown).toEqual(["memory/closed/"]);
    },
  );
});

test("a scan that is aborted stops", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const signal = AbortSignal.abort();
  await expect(scanMemory({ workspaceDir: workspace, extraPaths: [], signal })).rejects.toMatchObject({
    name: "AbortError",
  });
});

test("the event loop goes on while many files are listed", async () => {
  const workspace = folderWith();
  mkdirSync(path.join(workspace, "memory"));
  writeFiles(workspace, Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`memory/${index}.md`, "x"])));
  // Each look at the clock is a millisecond, however fast the machine is.
  let time = 0;
  vi.spyOn(performance, "now").mockImplementation(() => time++);
  onTestFinished(() => void vi.restoreAllMocks());
  let turns = 0;
  const tick = (): void => void (turns++, (immediate = setImmediate(tick)));
  let immediate = setImmediate(tick);
  const result = await scan(workspace);
  clearImmediate(immediate);
  expect(result.files).toHaveLength(1200);
  expect(turns).toBeGreaterThan(100);
});
